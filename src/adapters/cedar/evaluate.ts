import type { CedarHost, Seat } from './host.js'
import { type PolicySet, type Slice, sliceOf } from './policy-set.js'
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
  /** Null where the slice is empty: nothing in it can be satisfied. */
  readonly setNames: Readonly<Record<Slice, string | null>>
  readonly observed: readonly string[]
}

/**
 * Preparses one schema and up to three sets per action. Names count actions instead of spelling them:
 * they repeat on every reload, so nothing piles up in wasm memory.
 */
export function prepareEvaluator(host: CedarHost, seat: Seat, set: PolicySet): Evaluator {
  const wasm = host.wasm()
  const generation = host.generation()
  const prepared = new Map<string, Prepared>()
  set.schema.actions.forEach((shape, index) => {
    const name = `${seat}${index}`
    expectParsed(wasm.preparseSchema(name, schemaFor([shape])))
    const setNames: Record<Slice, string | null> = {
      enforced: null,
      observedPermits: null,
      observedForbids: null,
    }
    const observed: string[] = []
    for (const slice of SLICES) {
      const policies = sliceOf(set, shape.action, slice)
      // The enforced set is prepared even when empty: Cedar itself says the default deny.
      if (slice !== 'enforced' && Object.keys(policies).length === 0) continue
      expectParsed(wasm.preparsePolicySet(`${name}.${slice}`, { staticPolicies: policies }))
      setNames[slice] = `${name}.${slice}`
      if (slice !== 'enforced') observed.push(...Object.keys(policies))
    }
    prepared.set(shape.action, { schemaName: name, setNames, observed: observed.sort() })
  })
  return {
    generation,
    observed: (action) => prepared.get(action)?.observed ?? [],
    forRequest(request) {
      const names = prepared.get(request.action.id)
      if (names === undefined) throw new EvaluationFault('engine_fault', 'an unprepared action')
      return (slice, granted) => {
        const setName = names.setNames[slice]
        if (setName === null) return { allow: false, policies: [] }
        return outcomeOf(authorize(wasm, request, granted, names.schemaName, setName))
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
function outcomeOf(answer: Answer): Outcome {
  if (answer.type !== 'success') {
    throw new EvaluationFault('request_invalid', messages(answer.errors))
  }
  const { decision, diagnostics } = answer.response
  if (diagnostics.errors.length > 0) {
    const errors = diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`)
    throw new EvaluationFault('policy_error', errors.join('; '))
  }
  const policies = [...diagnostics.reason].sort()
  if (decision !== 'deny' && (decision !== 'allow' || policies.length === 0)) {
    throw new EvaluationFault('engine_fault', 'Cedar allowed without a policy that permits')
  }
  return { allow: decision === 'allow', policies }
}

function expectParsed(answer: ReturnType<CedarWasm['preparseSchema']>): void {
  if (answer.type !== 'success')
    throw new Error(`Cedar refuses the set: ${messages(answer.errors)}`)
}

const messages = (errors: readonly { readonly message: string }[]): string =>
  errors.map(({ message }) => message).join('; ')
