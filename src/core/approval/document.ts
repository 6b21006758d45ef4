import type { IrreversibilityClass } from '../capsule/registries.js'
import { irreversibility, octets, onExpiry } from '../capsule/shapes.js'
import { canonicalOf } from '../json/build.js'
import * as s from '../json/shape.js'
import type { Plain } from '../json/value.js'
import { evidenceForm } from '../manifest/constraint/inputs.js'
import type { Hitl } from '../manifest/model.js'
import type { Args } from '../manifest/route/read-result.js'
import { deadlineAt, expiryInWords, expiryOf } from './deadline.js'

const pair = s.tuple(s.anyText, s.anyText)
/** Exact: numbers are text, and an empty list says its count (normalization would drop it, seed §2). */
const argument = s.record({
  type: s.oneOf('string', 'integer', 'decimal', 'boolean', 'strings', 'object', 'objects'),
  value: s.json,
})
export type ShownArgument = s.Of<typeof argument>

/** What a human is shown, whole, and what their decision is bound to by its JSON-DIGEST (promise 4, 5). */
export const document = s.record({
  document: s.only('gate.approval/v1'),
  approval_id: s.text,
  operator: s.text,
  agent: s.text,
  developer: s.text,
  tool: s.text,
  arguments: s.mapOf(argument),
  /** What goes out with the call although no rule read it, members by JSON pointer. Absent from older documents. */
  not_judged: s.optional(
    s.record({ query: s.list(pair), members: s.list(s.anyText), body: s.flag }),
  ),
  request: s.record({
    method: s.nullable(s.anyText),
    upstream: s.nullable(s.anyText),
    target: s.nullable(s.anyText),
    headers: s.list(pair),
    /** MCP: what else is sent with the arguments, such as `task` or the answers to a server's questions. */
    more: s.optional(s.anyText),
    /** MCP: the digest of the tool's definition, as the agent was shown it. */
    definition: s.optional(s.digest),
    octets,
    /** The body's exact text; null where it is no text or too long to be read by a person. */
    body: s.nullable(s.anyText),
  }),
  routed_by: s.record({
    /** `agent`: it demands a person itself; `gate`: the gate stopped the session. */
    kind: s.oneOf('policy', 'constraint', 'agent', 'gate'),
    ids: s.list(s.anyText),
    /** The operator's own words (`@reason`), never the agent's. */
    reason: s.nullable(s.anyText),
  }),
  irreversibility: s.record({ class: irreversibility, words: s.anyText }),
  requested_at: s.time,
  deadline: s.record({ at: s.time, on_expiry: onExpiry, words: s.anyText }),
  quorum: s.count,
  roles: s.list(s.text),
  min_assurance: s.oneOf('L1', 'L2', 'L3'),
  on_approval: s.oneOf('retry', 'dispatch'),
  request_digest: s.digest,
  policy_digest: s.digest,
  manifest_digest: s.digest,
  /** The session the call is a step of; `session`: what is asked is whether that goes on. */
  session_id: s.optional(s.text),
  holds: s.optional(s.oneOf('session', 'call')),
  /** What the agent declared, in its own words, which the gate has not checked; and the record of a gap. */
  idp_summary: s.optional(s.json),
  /** False: policy or a constraint refuses the call whatever is decided. */
  approval_lifts: s.optional(s.flag),
  /** The document's digest is public; its content must not be guessable from it (seed §13). */
  salt: s.text,
})
export type ApprovalDocument = s.Of<typeof document>

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
