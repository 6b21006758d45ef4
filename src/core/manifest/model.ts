import type { Mode } from '../capsule/model.js'
import type { IrreversibilityClass } from '../capsule/registries.js'
import type { Plain } from '../json/value.js'

/** The full manifest: what the short form expands to, what `manifest show --expanded` prints and what is digested. */
export type Manifest = {
  /** v1 lets everything through that its rules do not read; v2 only what `also` names. */
  readonly manifest: 'gate.constraints/v1' | 'gate.constraints/v2'
  /** Reverse-DNS; bare constraint ids are prefixed with it. */
  readonly id: string
  readonly version: string
  readonly mode: Mode
  readonly default: { readonly no_match: 'deny' }
  /** Name of the upstream in gate.yaml these tools live on. */
  readonly upstream: string
  readonly object?: ObjectModel
  /** First match wins. */
  readonly rules: readonly ToolRule[]
  readonly constraints: { readonly [id: string]: Constraint }
  readonly tests: readonly ManifestTest[]
}

export type ArgType =
  | 'string'
  | 'integer'
  | 'decimal'
  | 'boolean'
  | 'strings'
  /** Read whole; predicates cannot look inside and policies do not see them. */
  | 'object'
  | 'objects'
/** What policies can see. */
export type PolicyArgType = Exclude<ArgType, 'object' | 'objects'>
export type ArgSource =
  | { readonly in: 'body'; readonly pointer: string }
  | { readonly in: 'query'; readonly name: string }
  | { readonly in: 'path'; readonly name: string }
  | { readonly in: 'header'; readonly name: string }
export type Arg = { readonly type: ArgType; readonly optional: boolean; readonly from: ArgSource }

/** `path` is a template: literal segments and `{name}`; matched against the raw, refused-not-normalised path. */
export type HttpMatch = { readonly method: string; readonly path: string }

/**
 * What of an MCP server: a tool, a prompt or a resource by its name or URI, anything else by its method. A
 * trailing `*` stands for any rest.
 */
export type McpMatch = { readonly server: string } & (
  | { readonly tool: string }
  | { readonly resource: string }
  | { readonly prompt: string }
  | { readonly method: string }
)
export const isMcpMatch = (match: ToolRule['match']): match is McpMatch =>
  match !== null && 'server' in match
/** Null for rules that no method and path leads to. */
export const httpMatchOf = ({ match }: Pick<ToolRule, 'match'>): HttpMatch | null =>
  match === null || isMcpMatch(match) ? null : match

/** What a tool lets through without reading it: bound in the request digest, shown as not judged. */
export type Also = {
  readonly query: readonly string[] | 'any'
  /** JSON pointers. */
  readonly body: readonly string[] | 'any'
}
/** A rule of a v1 manifest has no `also` and means this. */
export const LET_EVERYTHING: Also = { query: 'any', body: 'any' }

export type ToolRule = {
  readonly tool: string
  /** Null: called by its name (a function, a guarded route), never found by method and path. */
  readonly match: HttpMatch | McpMatch | null
  /** MCP tools: the digest its definition must have; absent: the one it had when it was first seen. */
  readonly definition?: string
  /** Cedar action id and the resource entity id (`Tool::"…"`). */
  readonly action: string
  readonly resource: string
  readonly args: { readonly [name: string]: Arg }
  /** Absent in v1. */
  readonly also?: Also
  readonly effect: {
    readonly type: string
    readonly irreversibility_class: IrreversibilityClass
    /** JSON pointer into the response body, recorded as effect.external_ref. */
    readonly external_ref?: string
  }
  readonly success: {
    /** `"200"` or `"200-299"`. */
    readonly status: readonly string[]
    /** A response body in which one of these holds is a failure although its status is not. */
    readonly unless: readonly {
      readonly pointer: string
      readonly op: 'exists' | 'equals'
      readonly value?: Plain
    }[]
  }
  readonly deadlines: {
    readonly connect_ms: number
    readonly first_byte_ms: number
    readonly total_ms: number
  }
  readonly connection: 'fresh' | 'pooled'
  readonly close_delimited: 'refuse' | 'accept'
  readonly hold_response: boolean
  readonly capture: 'digest' | 'full'
  readonly digest_salt: 'none' | 'tenant'
  readonly bind_headers: readonly string[]
  readonly forward_headers: readonly string[]
  readonly response_location: 'rewrite' | 'allow'
  /** Evidence is encrypted under a key of this argument's value instead of the operator's day key. */
  readonly subject?: string
  readonly constraints: readonly string[]
  readonly hitl?: Hitl
  /** Whether a call says what it is about to do. Absent: neither intent nor mandate is read. */
  readonly intent?: 'required' | 'optional'
  /** Thin declarations are refused (seed intent-declaration-primitive-01 §7). */
  readonly thin?: 'refuse'
  /** Refused where another principal's mandate last changed the object. */
  readonly cross_principal?: 'refuse'
}

/** The governed objects of a manifest's tools: one kind, its states, and which action leads where. */
export type ObjectModel = {
  readonly type: string
  /** `{order}`, or `booking:{id}`: which object a call is about, from its arguments (core/intent/object-id.ts). */
  readonly id: string
  /** The first is where an object begins. */
  readonly states: readonly string[]
  /** By Cedar action. An action without one is possible in every state and changes none. */
  readonly transitions: {
    readonly [action: string]: { readonly from: readonly string[]; readonly to: string }
  }
}

export type Hitl = {
  readonly ttl_seconds: number
  readonly quorum: number
  readonly roles: readonly string[]
  readonly min_assurance: 'L1' | 'L2' | 'L3'
  readonly on_approval: 'retry' | 'dispatch'
  readonly ladder: readonly { readonly roles: readonly string[]; readonly after_seconds: number }[]
  readonly reminders_seconds: readonly number[]
  /** How long a person's refusal stands; `ttl_seconds` where it says nothing. */
  readonly refusal_seconds?: number
}

/** What a constraint may read beside arguments. `$body` enters as its exact JSON text. */
export const SOURCES = ['$body', '$agent', '$operator', '$tool'] as const
export type Source = (typeof SOURCES)[number]

/** Missing input is an error, never a pass; an error is a block or a question, never a pass. */
export type Constraint = {
  readonly check_type: string
  readonly method: string
  readonly severity: 'low' | 'medium' | 'high' | 'critical'
  readonly on_fail: 'block' | 'hitl' | 'warn'
  readonly on_error: 'block' | 'hitl'
  /** Input name → argument name, or one of SOURCES. Input names with `$` are the gate's own. */
  readonly select: { readonly [input: string]: string }
  /** JSON Schema 2020-12 of the inputs object; floats refused. */
  readonly evidence_schema: Plain
  readonly thresholds: { readonly [name: string]: Plain }
  readonly predicate: Predicate
}

export type CompareOp = 'lt' | 'lte' | 'gt' | 'gte' | 'eq' | 'ne'
/** A literal threshold by name, optionally looked up by the value of an input (`max` by `currency`). */
export type Threshold = { readonly threshold: string; readonly by?: string }

type On<Kind extends string, More = unknown> = Kind extends string
  ? { readonly kind: Kind; readonly input: string } & More
  : never
type Range = { readonly min?: Threshold; readonly max?: Threshold }
type Window = { readonly scope: readonly string[]; readonly window_seconds: number }

/** The closed set. A new kind is a change here, in kinds.ts, in the evaluator and in docs/manifest.md. */
export type Predicate =
  | On<'exists' | 'absent'>
  | On<'equals' | 'hash_equals', { readonly to: Threshold }>
  | On<'in_set' | 'not_in_set' | 'url_host_in', { readonly set: Threshold }>
  /** Anchored at both ends, linear time (re2js). */
  | On<'regex', { readonly pattern: Threshold }>
  | On<'length' | 'integer_range', Range>
  | On<'decimal_compare', { readonly op: CompareOp; readonly to: Threshold }>
  | On<'json_schema', { readonly schema: Threshold }>
  /** Clock = the capsule's timestamp, in UTC. */
  | {
      readonly kind: 'time_window'
      readonly from: Threshold
      readonly until: Threshold
      readonly days?: Threshold
    }
  | ({ readonly kind: 'count_in_window'; readonly max: Threshold } & Window)
  | On<'sum_in_window', Window & { readonly max: Threshold }>
  | ({ readonly kind: 'dedupe_key' } & Window)
  /** The one way past a missing input: passes without it, else asks `then`. */
  | On<'if_present', { readonly then: Predicate }>
  /** All members are always evaluated, and any error among them is the error of the whole. */
  | { readonly kind: 'all'; readonly of: readonly Predicate[] }
  | { readonly kind: 'any'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }

export type ManifestTest = {
  readonly tool: string
  readonly args: { readonly [name: string]: Plain }
  /** The whole body, for constraints that read `$body`. */
  readonly body?: Plain
  /** The moment, RFC 3339 UTC, for constraints that read the clock. */
  readonly at?: string
  readonly expect: {
    readonly verdict: 'pass' | 'blocked' | 'ask'
    readonly constraints?: { readonly [id: string]: 'pass' | 'fail' | 'error' }
  }
}
