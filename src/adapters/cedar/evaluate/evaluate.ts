import {
  type LoadedPolicy,
  type PolicySet,
  policiesFor,
  type Slice,
  sliceOf,
  textsOf,
} from '../policy-set.js'
import { type ActionShape, schemaFor } from '../schema.js'
import { createMemo } from './memo.js'
import { keyOf, usesByAgent } from './memo-key.js'
import type { CedarRequest } from './request.js'
import type { Outcome } from './verdict.js'
import type { CedarHost, CedarWasm, Slot } from './wasm.js'

/** An evaluation that gives no decision. */
export class EvaluationFault extends Error {
  readonly errorClass: 'policy_error' | 'request_invalid' | 'engine_fault'
  constructor(errorClass: EvaluationFault['errorClass'], message: string) {
    super(message)
    this.errorClass = errorClass
  }
}

const SLICES = ['enforced', 'observedPermits', 'observedForbids'] as const
type Effects = ReadonlyMap<string, 'permit' | 'forbid'>

export type Evaluator = ReturnType<typeof prepareEvaluator>

/**
 * Preparses one schema and up to three sets per action. Names count actions instead of spelling them:
 * they repeat on every reload, so wasm memory does not grow.
 */
export function prepareEvaluator(host: CedarHost, slot: Slot['name'], set: PolicySet) {
  const wasm = host.wasm()
  const prepared = new Map(
    set.schema.actions.map((shape, index) => [
      shape.action,
      prepareAction(wasm, `${slot}${index}`, shape, policiesFor(set, shape)),
    ]),
  )
  return {
    generation: host.generation(),
    /** Ids of the action's observed policies, sorted. */
    observed: (action: string): readonly string[] => prepared.get(action)?.observed ?? [],
    forRequest(request: CedarRequest): (slice: Slice, granted: boolean) => Outcome {
      const action = prepared.get(request.action.id)
      if (action === undefined) throw new EvaluationFault('engine_fault', 'an unprepared action')
      const key = keyOf(request, action.usesFor(request.principal.id))
      return (slice, granted) => {
        const found = action.sets.get(slice)
        if (found === undefined) return NOTHING
        const memoKey = `${slice} ${granted} ${key}`
        const known = action.memo.get(memoKey)
        if (known !== undefined) return known
        const result = authorize(wasm, request, granted, action, found.name)
        // A fault throws here, so it is never remembered.
        const outcome = outcomeOf(result, found.effects)
        action.memo.set(memoKey, outcome)
        return outcome
      }
    },
  }
}

function prepareAction(
  wasm: CedarWasm,
  schemaName: string,
  shape: ActionShape,
  policies: readonly LoadedPolicy[],
) {
  const isByValue = policies.some(({ uses }) => uses === null)
  const args = shape.args.filter(
    ({ name }) => isByValue || policies.some(({ uses }) => uses?.has(name)),
  )
  const { action, intent } = shape
  const usesIntent =
    intent !== undefined &&
    policies.some(({ intentUses }) => intentUses === null || intentUses.size > 0)
  const used = { action, args, ...(usesIntent ? { intent } : {}) }
  expectParsed(wasm.preparseSchema(schemaName, schemaFor([used])))
  const sets = new Map<Slice, { readonly name: string; readonly effects: Effects }>()
  for (const slice of SLICES) {
    const inSlice = policies.filter((policy) => sliceOf(policy) === slice)
    // Observed slices that are empty have nothing to satisfy. An empty enforced one is Cedar's own default deny.
    if (slice !== 'enforced' && inSlice.length === 0) continue
    const name = `${schemaName}.${slice}`
    expectParsed(wasm.preparsePolicySet(name, { staticPolicies: textsOf(inSlice) }))
    sets.set(slice, { name, effects: new Map(inSlice.map(({ id, effect }) => [id, effect])) })
  }
  return {
    schemaName,
    /** The arguments any of the action's policies uses: Cedar gets no other. */
    usedArgs: new Set(args.map(({ name }) => name)),
    /** Whether any of them uses declaration or mandate: if none does, Cedar gets neither. */
    usesIntent,
    usesFor: usesByAgent(policies, shape),
    memo: createMemo<Outcome>(),
    sets,
    observed: policies
      .flatMap((policy) => (sliceOf(policy) === 'enforced' ? [] : [policy.id]))
      .sort(),
  }
}

const NOTHING: Outcome = { allow: false, policies: [] }

type Result = ReturnType<CedarWasm['statefulIsAuthorized']>

/**
 * Without what no policy uses; the evidence keeps it. The schema goes with every call: without it Cedar
 * checks neither types nor absent attributes.
 */
function authorize(
  wasm: CedarWasm,
  request: CedarRequest,
  granted: boolean,
  { schemaName, usedArgs, usesIntent }: ReturnType<typeof prepareAction>,
  setName: string,
): Result {
  const { approval: _, args: given, ...intent } = request.context
  const args = Object.entries(given).filter(([name]) => usedArgs.has(name))
  return wasm.statefulIsAuthorized({
    ...request,
    context: {
      args: Object.fromEntries(args),
      approval: { granted },
      ...(usesIntent ? intent : {}),
    },
    preparsedSchemaName: schemaName,
    validateRequest: true,
    preparsedPolicySetId: setName,
  })
}

/** A forbid that errors does not forbid, so one error anywhere voids the whole decision (DESIGN §8). */
function outcomeOf(result: Result, effects: Effects): Outcome {
  if (result.type !== 'success') {
    throw new EvaluationFault('request_invalid', messages(result.errors))
  }
  const { decision, diagnostics } = result.response
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

function expectParsed(result: ReturnType<CedarWasm['preparseSchema']>): void {
  if (result.type !== 'success')
    throw new Error(`Cedar refuses the set: ${messages(result.errors)}`)
}

const messages = (errors: readonly { readonly message: string }[]): string =>
  errors.map(({ message }) => message).join('; ')
