import { HumanDecision } from './human.js'
import type { By, CapsuleInput, Disposed, Recovered, Ungated, Verdict } from './input.js'
import type { Disposition } from './model.js'
import { type DispositionDecision, NEVER_DISPATCH, type VerdictClass } from './registries.js'

/** Seed §5.4 and DESIGN §6: the decision of each class where nothing was sent; null: it needs a dispatch. */
const UNSENT: Readonly<Record<VerdictClass, DispositionDecision | null>> = {
  blocked: 'reject',
  denied: 'reject',
  engine_failure: 'reject',
  expired: 'reject',
  resolved: 'reject',
  timeout: 'reject',
  hitl_dispatched: 'needs_input',
  needs_decision: 'needs_input',
  escalated: 'needs_input',
  deferred: 'deferred',
  executed: null,
  errored: null,
}

/** Verdict → decision, for every record. What was sent had been accepted, whatever became of it. */
export function decisionOf(verdict_class: VerdictClass, sent: boolean): DispositionDecision {
  const decision = sent ? 'accept' : UNSENT[verdict_class]
  if (decision === null) throw new TypeError(`${verdict_class} needs a dispatch`)
  return decision
}

/** `deferred` is a human's word (seed §5.4.1). */
const BY_POLICY: ReadonlySet<string> = new Set(
  NEVER_DISPATCH.filter((verdict_class) => verdict_class !== 'deferred'),
)

const policy = (
  verdict_class: VerdictClass,
  reason: { readonly reason_digest?: string },
): Disposition => ({
  decision: decisionOf(verdict_class, false),
  approver: 'policy',
  human_disposed: false,
  verdict_class,
  ...reasonOf(reason),
})

const reasonOf = ({ reason_digest }: { readonly reason_digest?: string }) =>
  reason_digest === undefined ? {} : { reason_digest }

export function dispositionOf(verdict: Verdict): Disposition {
  switch (verdict.kind) {
    case 'refused': {
      if (!BY_POLICY.has(verdict.verdict_class))
        throw new TypeError(`${verdict.verdict_class} is not a refusal by policy`)
      if (verdict.authority === '') throw new TypeError('an authority has a name')
      return {
        ...policy(verdict.verdict_class, verdict),
        ...(verdict.authority === undefined ? {} : { authority: verdict.authority }),
      }
    }
    case 'timed_out':
      return policy('timeout', verdict)
    case 'disposed':
      return closure(verdict)
    case 'ran': {
      const { by, effect, verdict_class, reason_digest } = verdict
      const disposition = accepted(by, effect.request_digest, verdict_class)
      return reason_digest === undefined ? disposition : { ...disposition, reason_digest }
    }
    case 'recovered':
      return accepted(byOf(verdict), verdict.effect.request_digest, 'errored')
    case 'ungated':
      return ungated(verdict)
  }
}

/**
 * It ran, so by the seed's words it is `errored` (§5.4.1: final state unknown) with an effect that left, never
 * `denied`, which would say that nothing did (§5.4.2). But `accept` would claim that somebody let it run: every
 * decision before an act was missing, and what policy has not accepted it rejects. So: `reject`, by policy, and
 * the reason says that there was no permit.
 */
const ungated = (verdict: Ungated): Disposition => ({
  decision: 'reject',
  approver: 'policy',
  human_disposed: false,
  verdict_class: 'errored',
  ...reasonOf(verdict),
})

/** The one place, beside `accepted`, that writes `human_disposed: true`: the person is in the argument. */
function closure(verdict: Disposed): Disposition {
  const { outcome } = assent(verdict.decision)
  const human = { approver: 'human', human_disposed: true, ...reasonOf(verdict) } as const
  switch (outcome) {
    case 'deny':
    case 'withdraw':
      if (verdict.expiry_policy !== undefined)
        throw new TypeError('expiry_policy belongs to a deferral (seed §5.4)')
      return { decision: decisionOf('resolved', false), ...human, verdict_class: 'resolved' }
    case 'resume':
      return { decision: 'accept', ...human, verdict_class: 'resolved' }
    case 'defer':
      return {
        decision: decisionOf('deferred', false),
        ...human,
        verdict_class: 'deferred',
        ...(verdict.expiry_policy === undefined ? {} : { expiry_policy: verdict.expiry_policy }),
      }
    case 'approve':
      throw new TypeError('an approval closes nothing by itself: what ran under it does')
  }
}

function accepted(by: By, requestDigest: string, verdict_class: VerdictClass): Disposition {
  const decision = decisionOf(verdict_class, true)
  switch (by.kind) {
    case 'policy':
      return { approver: 'policy', decision, human_disposed: false, verdict_class }
    case 'grant':
      if (by.authority === '') throw new TypeError('a standing grant names its authority')
      return {
        approver: 'policy',
        authority: by.authority,
        decision,
        human_disposed: false,
        verdict_class,
      }
    case 'human': {
      const given = assent(by.decision)
      if (given.outcome !== 'approve') throw new TypeError(`a person said ${given.outcome}`)
      if (given.requestDigest !== requestDigest)
        throw new TypeError('the person approved another request')
      return { approver: 'human', decision, human_disposed: true, verdict_class }
    }
  }
}

function assent(decision: HumanDecision) {
  const given = HumanDecision.assentOf(decision)
  if (given === null) throw new TypeError('not a decision an authenticated person made')
  return given
}

/** The person's decision a record rests on, if it rests on one. */
export function assentBehind({ verdict }: Pick<CapsuleInput, 'verdict'>) {
  if (verdict.kind === 'disposed') return assent(verdict.decision)
  if (verdict.kind !== 'ran' && verdict.kind !== 'recovered') return null
  const by = verdict.kind === 'ran' ? verdict.by : byOf(verdict)
  return by.kind === 'human' ? assent(by.decision) : null
}

/** Without evidence of who let it run, the record names policy and no authority. */
const byOf = (verdict: Recovered): By =>
  verdict.evidence === 'present' ? verdict.by : { kind: 'policy' }
