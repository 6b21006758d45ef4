import type { CedarHost, Seat } from './host.js'
import { type PolicySet, type Slice, sliceOf, textsOf } from './policy-set.js'
import type { CedarRequest } from './request.js'
import { schemaFor } from './schema.js'
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
  /** Without the observed slices that are empty: nothing in them can be satisfied. */
  readonly sets: ReadonlyMap<Slice, { readonly name: string; readonly effects: Effects }>
  readonly observed: readonly string[]
}
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
    expectParsed(wasm.preparseSchema(schemaName, schemaFor([shape])))
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
    prepared.set(shape.action, { schemaName, sets, observed: observed.sort() })
  })
  return {
    generation,
    observed: (action) => prepared.get(action)?.observed ?? [],
    forRequest(request) {
      const names = prepared.get(request.action.id)
      if (names === undefined) throw new EvaluationFault('engine_fault', 'an unprepared action')
      return (slice, granted) => {
        const found = names.sets.get(slice)
        if (found === undefined) return { allow: false, policies: [] }
        const answer = authorize(wasm, request, granted, names.schemaName, found.name)
        return outcomeOf(answer, found.effects)
      }
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
    ...(request as unknown as Pick<
      Parameters<CedarWasm['statefulIsAuthorized']>[0],
      'principal' | 'action' | 'resource' | 'entities'
    >),
    context: { args: request.context.args as never, approval: { granted } },
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
