import type { ObservedPolicy } from '../../../ports/policy.js'

/** What one evaluation gave: the determining policies, sorted. Denied by none is the default deny. */
export type Outcome = { readonly allow: boolean; readonly policies: readonly string[] }
export type Kind = 'permit' | 'deny' | 'ask'

export type Traits = { readonly effect: 'permit' | 'forbid'; readonly hem: boolean }
export type Evaluated = {
  readonly traits: (id: string) => Traits
  /** Evaluation of the request as it is. */
  readonly now: Outcome
  /** The same with `approval.granted`: null when it already is. Evaluated only when it matters. */
  readonly approved: (() => Outcome) | null
}

/** Ask only where a human can help: every policy in the way asks for one, and approval lifts them all. */
export function verdictOf({ traits, now, approved }: Evaluated): Kind {
  if (now.allow) return 'permit'
  if (approved === null || now.policies.length === 0) return 'deny'
  if (!now.policies.every((id) => traits(id).hem)) return 'deny'
  return approved().allow ? 'ask' : 'deny'
}

/** Which of the observed policies are satisfied, in either evaluation. */
export type Observation = {
  readonly ids: readonly string[]
  readonly now: ReadonlySet<string>
  readonly approved: () => ReadonlySet<string>
}

/** The flip set: each observed policy that, enforced on top of the others, would change the decision. */
export function flips(evaluated: Evaluated, base: Kind, observed: Observation): ObservedPolicy[] {
  const { traits, now, approved } = evaluated
  const flipped: ObservedPolicy[] = []
  for (const id of observed.ids) {
    const { effect } = traits(id)
    const would = verdictOf({
      traits,
      now: observed.now.has(id) ? withPolicy(now, id, effect) : now,
      approved:
        approved === null
          ? null
          : () => (observed.approved().has(id) ? withPolicy(approved(), id, effect) : approved()),
    })
    if (would !== base) flipped.push({ id, would })
  }
  return flipped
}

/** Cedar's rule: a satisfied forbid denies whatever is permitted, a permit counts when nothing forbids. */
function withPolicy(outcome: Outcome, id: string, effect: Traits['effect']): Outcome {
  if (effect === 'forbid') {
    return { allow: false, policies: outcome.allow ? [id] : [...outcome.policies, id] }
  }
  const forbidden = !outcome.allow && outcome.policies.length > 0
  return forbidden ? outcome : { allow: true, policies: [...outcome.policies, id] }
}
