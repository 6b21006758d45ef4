import { bothLooks, type Look, placeOf } from '../load/looks.js'
import { type LoadedPolicy, type PolicySet, type Slice, sliceOf, textsOf } from '../policy-set.js'
import { type ActionShape, schemaFor } from '../schema.js'
import type { CedarHost, Seat } from './host.js'
import type { CedarRequest } from './request.js'
import type { Outcome } from './verdict.js'
import type { CedarWasm } from './wasm.js'

/** An evaluation that gives no decision: nobody may read it as one. */
export class EvaluationFault extends Error {
  readonly errorClass: 'policy_error' | 'request_invalid' | 'engine_fault'
  constructor(errorClass: EvaluationFault['errorClass'], message: string) {
    super(message)
    this.errorClass = errorClass
  }
}

export type Evaluator = {
  readonly generation: number
  /** Ids of the action's observed policies, sorted. */
  observed(action: string): readonly string[]
  forRequest(request: CedarRequest): (slice: Slice, granted: boolean) => Outcome
}

const SLICES = ['enforced', 'observedPermits', 'observedForbids'] as const
type Prepared = {
  readonly schemaName: string
  /** The arguments any of the action's policies looks at: Cedar is shown no other. */
  readonly reads: ReadonlySet<string>
  /** How policies about this agent look at arguments: nothing else can change its decision. */
  readonly looksFor: (agent: string) => readonly ArgLook[]
  readonly decided: Memory
  /** Without the observed slices that are empty: nothing in them can be satisfied. */
  readonly sets: ReadonlyMap<Slice, { readonly name: string; readonly effects: Effects }>
  readonly observed: readonly string[]
}
type ArgLook = { readonly name: string; readonly look: Look }
type Effects = ReadonlyMap<string, 'permit' | 'forbid'>

/**
 * Preparses one schema and up to three sets per action. Names count actions instead of spelling them:
 * they repeat on every reload, so nothing piles up in wasm memory.
 */
export function prepareEvaluator(host: CedarHost, seat: Seat, set: PolicySet): Evaluator {
  const wasm = host.wasm()
  const generation = host.generation()
  const prepared = new Map<string, Prepared>()
  set.schema.actions.forEach((shape, index) => {
    const schemaName = `${seat}${index}`
    const reads = readsOf(set, shape)
    const judged = { ...shape, args: shape.args.filter(({ name }) => reads.has(name)) }
    expectParsed(wasm.preparseSchema(schemaName, schemaFor([judged])))
    const sets = new Map<Slice, { name: string; effects: Effects }>()
    for (const slice of SLICES) {
      const policies = sliceOf(set, shape.action, slice)
      // The enforced set is prepared even when empty: Cedar itself says the default deny.
      if (slice !== 'enforced' && policies.length === 0) continue
      const name = `${schemaName}.${slice}`
      expectParsed(wasm.preparsePolicySet(name, { staticPolicies: textsOf(policies) }))
      sets.set(slice, { name, effects: new Map(policies.map(({ id, effect }) => [id, effect])) })
    }
    const observed = [...sets].flatMap(([slice, { effects }]) =>
      slice === 'enforced' ? [] : [...effects.keys()],
    )
    prepared.set(shape.action, {
      schemaName,
      reads,
      looksFor: looksByAgent(set, shape),
      decided: createMemory(),
      sets,
      observed: observed.sort(),
    })
  })
  return {
    generation,
    observed: (action) => prepared.get(action)?.observed ?? [],
    forRequest(request) {
      const names = prepared.get(request.action.id)
      if (names === undefined) throw new EvaluationFault('engine_fault', 'an unprepared action')
      const key = keyOf(request, names.looksFor(request.principal.id))
      return (slice, granted) => {
        const found = names.sets.get(slice)
        if (found === undefined) return NOTHING
        const question = `${slice} ${granted} ${key}`
        const known = names.decided.recall(question)
        if (known !== undefined) return known
        const judged = narrowed(request, names.reads)
        const answer = authorize(wasm, judged, granted, names.schemaName, found.name)
        // A fault is never remembered: it throws past this.
        const outcome = outcomeOf(answer, found.effects)
        names.decided.keep(question, outcome)
        return outcome
      }
    },
  }
}

const NOTHING: Outcome = { allow: false, policies: [] }

function readsOf(set: PolicySet, shape: ActionShape): ReadonlySet<string> {
  return new Set(
    aboutAction(set, shape).flatMap(({ looks }) =>
      looks === null ? namesOf(shape) : [...looks.keys()],
    ),
  )
}

const namesOf = ({ args }: ActionShape): string[] => args.map(({ name }) => name)
const aboutAction = (set: PolicySet, { action }: ActionShape): LoadedPolicy[] =>
  set.policies.filter(({ actions }) => actions.includes(action))

/** Worked out for the agents that policies name; all others meet the policies that name nobody. */
function looksByAgent(set: PolicySet, shape: ActionShape): Prepared['looksFor'] {
  const policies = aboutAction(set, shape)
  const asIs = new Map<string, Look>(namesOf(shape).map((name) => [name, 'value']))
  const looksBy = (agent: string | null): readonly ArgLook[] => {
    const all = new Map<string, Look>()
    for (const { agent: about, looks } of policies) {
      if (about !== null && about !== agent) continue
      for (const [name, look] of looks ?? asIs) all.set(name, bothLooks(all.get(name) ?? [], look))
    }
    return [...all]
      .map(([name, look]) => ({ name, look }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  const named = new Map<string, readonly ArgLook[]>()
  for (const { agent } of policies) {
    if (agent !== null && !named.has(agent)) named.set(agent, looksBy(agent))
  }
  const others = looksBy(null)
  return (agent) => named.get(agent) ?? others
}

/**
 * All that a decision depends on beside the slice and the grant: who, on what, and the arguments that
 * are looked at, in their order: their place among the limits where they are only compared, else as
 * they are. An absent one is null, which no argument is.
 */
function keyOf(
  { principal, resource, entities, context }: CedarRequest,
  looks: readonly ArgLook[],
) {
  const told: unknown[] = [principal.id, resource.id]
  for (const { attrs, parents } of entities) told.push(attrs, parents)
  for (const { name, look } of looks) {
    const value = Object.hasOwn(context.args, name) ? context.args[name] : undefined
    if (value === undefined) told.push(null)
    else told.push(look === 'value' ? value : (placeOf(value, look) ?? value))
  }
  return JSON.stringify(told)
}

/** The request without what nobody looks at; the evidence keeps it whole. */
function narrowed(request: CedarRequest, reads: ReadonlySet<string>): CedarRequest {
  const args = Object.entries(request.context.args).filter(([name]) => reads.has(name))
  return { ...request, context: { ...request.context, args: Object.fromEntries(args) } }
}

const MAX_REMEMBERED = 4096
const MAX_KEY = 1024

type Memory = ReturnType<typeof createMemory>

/**
 * Decisions are a function of the set and what it reads, so they are remembered (promise 7). In two
 * generations: when the younger is full the older goes as a whole. To drop the one oldest entry of a
 * Map, V8 first walks over all that were dropped since it last grew.
 */
function createMemory() {
  let young = new Map<string, Outcome>()
  let old = new Map<string, Outcome>()
  function keep(key: string, outcome: Outcome): void {
    if (key.length > MAX_KEY) return
    if (young.size >= MAX_REMEMBERED / 2) {
      old = young
      young = new Map()
    }
    young.set(key, outcome)
  }
  return {
    keep,
    recall(key: string): Outcome | undefined {
      const recent = young.get(key)
      if (recent !== undefined) return recent
      const known = old.get(key)
      if (known !== undefined) keep(key, known)
      return known
    },
  }
}

type Answer = ReturnType<CedarWasm['statefulIsAuthorized']>

/** The schema goes with every call: without it Cedar checks neither types nor absent attributes. */
function authorize(
  wasm: CedarWasm,
  request: CedarRequest,
  granted: boolean,
  schemaName: string,
  setName: string,
): Answer {
  return wasm.statefulIsAuthorized({
    principal: request.principal,
    action: request.action,
    resource: request.resource,
    entities: request.entities,
    context: { args: request.context.args, approval: { granted } },
    preparsedSchemaName: schemaName,
    validateRequest: true,
    preparsedPolicySetId: setName,
  })
}

/** A forbid that errors does not forbid, so one error anywhere voids the whole decision (DESIGN §8). */
function outcomeOf(answer: Answer, effects: Effects): Outcome {
  if (answer.type !== 'success') {
    throw new EvaluationFault('request_invalid', messages(answer.errors))
  }
  const { decision, diagnostics } = answer.response
  if (diagnostics.errors.length > 0) {
    const errors = diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`)
    throw new EvaluationFault('policy_error', errors.join('; '))
  }
  const allow = decision === 'allow'
  const policies = [...diagnostics.reason].sort()
  const effect = allow ? 'permit' : 'forbid'
  const determined = policies.every((id) => effects.get(id) === effect)
  if (!determined || (allow ? policies.length === 0 : decision !== 'deny')) {
    throw new EvaluationFault('engine_fault', `"${decision}" that no policy of the set explains`)
  }
  return { allow, policies }
}

function expectParsed(answer: ReturnType<CedarWasm['preparseSchema']>): void {
  if (answer.type !== 'success')
    throw new Error(`Cedar refuses the set: ${messages(answer.errors)}`)
}

const messages = (errors: readonly { readonly message: string }[]): string =>
  errors.map(({ message }) => message).join('; ')
