import type { Octets } from '../capsule/model.js'
import type { IrreversibilityClass } from '../capsule/registries.js'
import { exactText } from '../json/exact-text.js'
import type { Plain } from '../json/value.js'
import type { ArgValue } from '../manifest/constraint/typed-value.js'
import type { Hitl } from '../manifest/model.js'
import type { Args } from '../manifest/route/read-result.js'
import { deadlineAt, expiryInWords, expiryOf, type OnExpiry } from './deadline.js'

/** What a human is shown, whole, and what their decision is bound to by its JSON-DIGEST (promise 4, 5). */
export type ApprovalDocument = {
  readonly document: 'gate.approval/v1'
  readonly approval_id: string
  readonly operator: string
  readonly agent: string
  readonly developer: string
  readonly tool: string
  readonly arguments: { readonly [name: string]: ShownArgument }
  /** What goes out with the call although no rule looked at it. Absent before it was told. */
  readonly not_judged?: {
    readonly query: readonly (readonly [name: string, value: string])[]
    /** JSON pointers into the body. */
    readonly members: readonly string[]
    /** No rule reads the body at all. */
    readonly body: boolean
  }
  readonly request: {
    readonly method: string | null
    readonly upstream: string | null
    readonly target: string | null
    readonly headers: readonly (readonly [name: string, value: string])[]
    readonly octets: Octets
    /** The body's exact text; null where it is no text or too long to be read by a person. */
    readonly body: string | null
  }
  readonly routed_by: {
    readonly kind: 'policy' | 'constraint'
    readonly ids: readonly string[]
    /** The operator's own words (`@reason`), never the agent's. */
    readonly reason: string | null
  }
  readonly irreversibility: { readonly class: IrreversibilityClass; readonly words: string }
  readonly requested_at: string
  readonly deadline: { readonly at: string; readonly on_expiry: OnExpiry; readonly words: string }
  readonly quorum: number
  readonly roles: readonly string[]
  readonly min_assurance: Hitl['min_assurance']
  readonly on_approval: Hitl['on_approval']
  readonly request_digest: string
  readonly policy_digest: string
  readonly manifest_digest: string
  /** The document's digest is public; its content must not be guessable from it (seed §13). */
  readonly salt: string
}

/** Exact: numbers are text, and an empty list says its count (normalization would drop it, seed §2). */
export type ShownArgument = { readonly type: ArgValue['type']; readonly value: Plain }

export type ToDocument = Omit<
  ApprovalDocument,
  | 'document'
  | 'arguments'
  | 'irreversibility'
  | 'deadline'
  | 'quorum'
  | 'roles'
  | 'min_assurance'
  | 'on_approval'
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
  for (const [name, arg] of args) out[name] = { type: arg.type, value: exact(arg) }
  return out
}

function exact(arg: ArgValue): Plain {
  switch (arg.type) {
    case 'string':
    case 'decimal':
    case 'boolean':
      return arg.value
    case 'integer':
      return arg.value.toString()
    case 'strings':
      return { count: arg.value.length, items: arg.value }
    case 'object':
    case 'objects':
      return exactText(arg.value)
  }
}
