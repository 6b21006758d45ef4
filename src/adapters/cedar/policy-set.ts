import { createHash } from 'node:crypto'
import { canonicalOf } from '../../core/json/build.js'
import type { Annotated } from './load/annotations.js'
import type { ArgumentUse } from './load/argument-buckets.js'
import type { PolicyScope } from './load/scope.js'
import type { PolicyText } from './load/split.js'
import type { ActionShape, PolicySchema } from './schema.js'

export type LoadedPolicy = Annotated &
  PolicyText & {
    readonly effect: 'permit' | 'forbid'
    /** The actions its scope names. */
    readonly actions: readonly string[]
    /** Arguments it uses, and how; null: all of them, by value. */
    readonly uses: ReadonlyMap<string, ArgumentUse> | null
    /** What it uses of declaration and mandate, by path, and how; null: all of it, by value. */
    readonly intentUses: ReadonlyMap<string, ArgumentUse> | null
    readonly scope: PolicyScope
    /** Whether a `when` or `unless` can still keep it from applying. */
    readonly isConditional: boolean
  }

const validated: unique symbol = Symbol('validated')
/** Only `loadPolicies` makes one: parsed, strictly validated and linted. */
export type PolicySet = {
  readonly [validated]: true
  readonly digest: string
  /** The bytes the digest is of, for the public store. */
  readonly document: string
  readonly schema: PolicySchema
  /** Sorted by id. */
  readonly policies: readonly LoadedPolicy[]
}

export function policySet(schema: PolicySchema, policies: readonly LoadedPolicy[]): PolicySet {
  const sorted = [...policies].sort((a, b) => (a.id < b.id ? -1 : 1))
  const document = canonicalOf({ policies: textsOf(sorted), schema: schema.text })
  const digest = createHash('sha256').update(document).digest('hex')
  return { [validated]: true, digest, document, schema, policies: sorted }
}

export type Slice = 'enforced' | 'observedPermits' | 'observedForbids'

/**
 * The slice a policy is evaluated in. Observed ones are apart by effect, so that the determining
 * policies of each evaluation are all the satisfied ones.
 */
export function sliceOf({ mode, effect }: LoadedPolicy): Slice {
  if (mode === 'enforce') return 'enforced'
  return effect === 'permit' ? 'observedPermits' : 'observedForbids'
}

export const policiesFor = (set: PolicySet, { action }: ActionShape): LoadedPolicy[] =>
  set.policies.filter(({ actions }) => actions.includes(action))

/** As Cedar takes them: keyed by our ids, which it would otherwise number. */
export const textsOf = (policies: readonly LoadedPolicy[]): Record<string, string> =>
  Object.fromEntries(policies.map(({ id, text }) => [id, text]))
