import type { IrreversibilityClass } from '../capsule/registries.js'
import { irreversibility, octets, onExpiry } from '../capsule/shapes.js'
import { canonicalOf } from '../json/build.js'
import {
  anyText,
  count,
  digest,
  flag,
  json,
  list,
  mapOf,
  nullable,
  type Of,
  oneOf,
  only,
  optional,
  record,
  text,
  time,
  tuple,
} from '../json/shape.js'
import type { Plain } from '../json/value.js'
import { evidenceForm } from '../manifest/constraint/inputs.js'
import type { Hitl } from '../manifest/model.js'
import type { Args } from '../manifest/route/read-result.js'
import { deadlineAt, expiryInWords, expiryOf } from './deadline.js'

const pair = tuple(anyText, anyText)
/** Exact: numbers are text, and an empty list says its count (normalization would drop it, seed §2). */
const argument = record({
  type: oneOf('string', 'integer', 'decimal', 'boolean', 'strings', 'object', 'objects'),
  value: json,
})
export type ShownArgument = Of<typeof argument>

/** What a human is shown, whole, and what their decision is bound to by its JSON-DIGEST (promise 4, 5). */
export const document = record({
  document: only('gate.approval/v1'),
  approval_id: text,
  operator: text,
  agent: text,
  developer: text,
  tool: text,
  arguments: mapOf(argument),
  /** What goes out with the call although no rule read it, members by JSON pointer. Absent from older documents. */
  not_judged: optional(record({ query: list(pair), members: list(anyText), body: flag })),
  request: record({
    method: nullable(anyText),
    upstream: nullable(anyText),
    target: nullable(anyText),
    headers: list(pair),
    octets,
    /** The body's exact text; null where it is no text or too long to be read by a person. */
    body: nullable(anyText),
  }),
  routed_by: record({
    kind: oneOf('policy', 'constraint'),
    ids: list(anyText),
    /** The operator's own words (`@reason`), never the agent's. */
    reason: nullable(anyText),
  }),
  irreversibility: record({ class: irreversibility, words: anyText }),
  requested_at: time,
  deadline: record({ at: time, on_expiry: onExpiry, words: anyText }),
  quorum: count,
  roles: list(text),
  min_assurance: oneOf('L1', 'L2', 'L3'),
  on_approval: oneOf('retry', 'dispatch'),
  request_digest: digest,
  policy_digest: digest,
  manifest_digest: digest,
  /** The document's digest is public; its content must not be guessable from it (seed §13). */
  salt: text,
})
export type ApprovalDocument = Of<typeof document>

type FromHitl = 'quorum' | 'roles' | 'min_assurance' | 'on_approval'
export type ToDocument = Omit<
  ApprovalDocument,
  'document' | 'arguments' | 'irreversibility' | 'deadline' | FromHitl
> & {
  readonly args: Args
  readonly irreversibility: IrreversibilityClass
  readonly hitl: Hitl
}

const WORDS: Readonly<Record<IrreversibilityClass, string>> = {
  two_way: 'can be undone',
  one_way_recoverable: 'cannot be undone, but can be made good',
  one_way_consequential: 'cannot be undone and has consequences',
  one_way_terminal: 'cannot be undone and cannot be made good',
}

export function approvalDocument(of: ToDocument): ApprovalDocument {
  const { args, irreversibility, hitl, ...same } = of
  const deadline = deadlineAt(hitl, 0)
  return {
    ...same,
    document: 'gate.approval/v1',
    arguments: argumentsOf(args),
    irreversibility: { class: irreversibility, words: WORDS[irreversibility] },
    deadline: {
      at: expiryOf(of.requested_at, deadline),
      on_expiry: deadline.on_expiry,
      words: expiryInWords(deadline.on_expiry),
    },
    quorum: hitl.quorum,
    roles: hitl.roles,
    min_assurance: hitl.min_assurance,
    on_approval: hitl.on_approval,
  }
}

export function argumentsOf(args: Args): ApprovalDocument['arguments'] {
  const out: { [name: string]: ShownArgument } = Object.create(null)
  for (const [name, arg] of args) {
    const { type } = arg
    // An empty list is shown as one; evidence leaves its items out.
    const value =
      type === 'strings' ? { count: arg.value.length, items: arg.value } : evidenceForm(arg)
    out[name] = { type, value }
  }
  return out
}

/**
 * Which call a refusal is about: the tool and what was read of the call, not how it was spelt. Other headers,
 * keys, white space, member order or zeros behind a decimal point make no other call. The journal has a keyed
 * digest of it, so that small arguments cannot be guessed (promise 8).
 */
export const callText = (call: {
  readonly tool: string
  readonly args: Args
  readonly letThrough: Plain
}): string =>
  canonicalOf({
    tool: call.tool,
    arguments: argumentsOf(call.args),
    let_through: call.letThrough,
  })
