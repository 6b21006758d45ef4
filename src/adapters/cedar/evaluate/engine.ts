import type { Plain } from '../../../core/json/value.js'
import type { PolicyDecision, PolicyEngine, PolicyRequest } from '../../../ports/policy.js'
import type { PolicySet } from '../policy-set.js'
import { type ActionShape, cedarSchema, type PolicyRule } from '../schema.js'
import { EvaluationFault, type Evaluator, prepareEvaluator } from './evaluate.js'
import { prepareMayPermit } from './may-permit.js'
import { cedarRequest } from './request.js'
import { isWellFormed } from './values.js'
import { type Evaluated, flips, verdictOf } from './verdict.js'
import {
  type CedarHost,
  type CedarWasm,
  cedarHost,
  instantiateCedar,
  isInstanceLost,
  type Slot,
} from './wasm.js'

export type CedarEngine = PolicyEngine & { readonly actions: readonly ActionShape[] }

/** The slot of each engine, so that its successor takes the other one of the same instance. */
const slots = new WeakMap<PolicyEngine, { host: CedarHost; slot: Slot }>()

/**
 * Throws when the set cannot be prepared; an engine it `replaces` goes on working then, and until the
 * caller swaps them. The engine before that one is retired: its decisions are errors.
 */
export function createCedarEngine(options: {
  readonly set: PolicySet
  readonly rules: readonly PolicyRule[]
  readonly replaces?: PolicyEngine
  readonly instantiate?: () => CedarWasm
}): CedarEngine {
  const { set } = options
  const schema = cedarSchema(options.rules)
  if (!schema.ok || schema.schema.text !== set.schema.text) {
    throw new Error('the policies were validated against other manifests: load them again')
  }
  const before = options.replaces === undefined ? undefined : slots.get(options.replaces)
  const host = before?.host ?? cedarHost(options.instantiate ?? instantiateCedar)
  const slot = host.takeSlot(before?.slot.name === 'A' ? 'B' : 'A')
  const byId = new Map(set.policies.map((policy) => [policy.id, policy]))
  const shapes = new Map(set.schema.actions.map((shape) => [shape.action, shape]))
  let evaluator = prepare(host, slot, set)

  const traits = (id: string) => {
    const policy = byId.get(id)
    if (policy === undefined) throw new EvaluationFault('engine_fault', 'an unknown policy id')
    return policy
  }
  const reasonOf = (ids: readonly string[]): string | null => {
    const reasons = ids.flatMap((id) => traits(id).reason ?? [])
    return reasons.length === 0 ? null : [...new Set(reasons)].join('; ')
  }

  /** May throw: `decide` turns that into an error value. */
  const judge = (request: PolicyRequest): PolicyDecision => {
    if (!slot.isHeld()) return failure(request, 'engine_retired', 'a newer policy set replaced it')
    if (evaluator.generation !== host.generation()) evaluator = prepare(host, slot, set)
    const shape = shapes.get(request.action)
    if (shape === undefined) return failure(request, 'unknown_action', 'no rule has this action')
    const built = cedarRequest(shape, request)
    if (!built.ok) return failure(request, built.errorClass, built.detail)

    const evaluate = evaluator.forRequest(built.request)
    const { granted } = request.approval
    const approved = once(() => evaluate('enforced', true))
    const evaluated: Evaluated = {
      traits,
      now: evaluate('enforced', granted),
      approved: granted ? null : approved,
    }
    const kind = verdictOf(evaluated)
    const satisfied = (assumed: boolean) =>
      new Set([
        ...evaluate('observedPermits', assumed).policies,
        ...evaluate('observedForbids', assumed).policies,
      ])
    const ids = evaluator.observed(request.action)
    const observed =
      ids.length === 0
        ? []
        : flips(evaluated, kind, {
            ids,
            now: satisfied(granted),
            approved: once(() => satisfied(true)),
          })
    const { policies } = evaluated.now
    const asked = built.request as Plain
    return kind === 'permit'
      ? { kind, policies, observed, request: asked }
      : { kind, policies, observed, request: asked, reason: reasonOf(policies) }
  }

  const engine: CedarEngine = {
    digest: set.digest,
    policyIds: set.policies.map(({ id }) => id),
    actions: set.schema.actions,
    mayPermit: prepareMayPermit(set),
    decide(request) {
      try {
        return judge(request)
      } catch (error) {
        return isInstanceLost(error) ? recovered(host, request, error) : thrown(request, error)
      }
    },
  }
  slots.set(engine, { host, slot })
  return engine
}

function prepare(host: CedarHost, slot: Slot, set: PolicySet): Evaluator {
  try {
    return prepareEvaluator(host, slot.name, set)
  } catch (error) {
    // The engine in the other slot uses the same instance, so it needs a new one too.
    if (isInstanceLost(error)) host.replace()
    throw error
  }
}

/** The call that trapped is refused; the next one gets a new instance. */
function recovered(host: CedarHost, request: PolicyRequest, lost: unknown): PolicyDecision {
  try {
    host.replace()
    return failure(request, 'instance_replaced', `the Cedar instance was lost: ${String(lost)}`)
  } catch (error) {
    return failure(request, 'instance_lost', `no new Cedar instance: ${String(error)}`)
  }
}

const thrown = (request: PolicyRequest, error: unknown): PolicyDecision =>
  error instanceof EvaluationFault
    ? failure(request, error.errorClass, error.message)
    : failure(request, 'engine_fault', String(error))

/** Cedar's messages may print the whole context: bounded, and for the private record only. */
const MAX_DETAIL = 1000

/** What could not become a Cedar request is named by its ids alone, as far as they are text. */
const failure = (request: PolicyRequest, errorClass: string, detail: string): PolicyDecision => ({
  kind: 'error',
  errorClass,
  detail: detail.slice(0, MAX_DETAIL),
  request: {
    principal: named(request?.principal),
    action: named(request?.action),
    resource: named(request?.resource),
  },
})

const named = (id: unknown): string | null =>
  typeof id === 'string' && id.length <= 1024 && isWellFormed(id) ? id : null

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
