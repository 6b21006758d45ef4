import type { Mode } from '../../core/capsule/model.js'

/** What an endpoint may ask to hear. */
export const EVENT_TYPES = [
  'approval.requested',
  'approval.reminder',
  'approval.escalated',
  'approval.decided',
  'approval.expired',
  'verdict.denied',
  'policy.changed',
  'mode.changed',
  'journal.head',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

export type Endpoint = {
  readonly name: string
  readonly url: string
  readonly events: readonly EventType[]
  /** `whsec_…`, the newest first; read again for each attempt, so that a rotation needs no restart. MAY throw. */
  readonly secrets: () => readonly string[]
  /** Plain http, and addresses inside the operator's own network. */
  readonly allowPrivate: boolean
}

type Value =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | { readonly [name: string]: Value }
export type EventData = { readonly [name: string]: Value }

/** Something that happened, as a journal line established it. */
export type WebhookEvent = {
  readonly type: EventType
  /** The line's own time. */
  readonly at: string
  /** Events of one approval reach an endpoint in their order. */
  readonly approval: string | null
  /** After this moment nobody can act on it any more. */
  readonly deadline: string | null
  /** Where the admin plane shows it; null where it does not. */
  readonly page: string | null
  readonly data: EventData
}

export type Delivery = {
  /** `webhook-id`: the same for every attempt, also after a restart. */
  readonly id: string
  readonly endpoint: string
  readonly seq: number
  readonly type: EventType
  readonly at: string
  readonly approval: string | null
  readonly deadline: string | null
  readonly body: string
  readonly tries: number
  /** Milliseconds since the epoch. */
  readonly next: number
  /** What the last attempt ended with. */
  readonly why: string | null
}
export type DeadLetter = Delivery & { readonly why: string; readonly since: string }

/** An open request to a human, as far as notifications name it. */
export type ApprovalSeen = {
  readonly tool: string
  readonly agent: string
  readonly operator: string
  readonly document_digest: string
  /** The capsule that whatever comes next supersedes. */
  readonly capsule_id: string
  readonly deadline: { readonly at: string; readonly on_expiry: string }
  readonly approved: boolean
}
export type JudgesSeen = {
  readonly policy_digest: string
  readonly manifest_digests: readonly string[]
  readonly mode: Mode
}
/** What an event has to say that its own line does not. */
export type Context = {
  readonly approvals: ReadonlyMap<string, ApprovalSeen>
  readonly judges: JudgesSeen | null
}
export type ContextChange = {
  /** Null: closed. */
  readonly approvals?: { readonly [id: string]: ApprovalSeen | null }
  readonly judges?: JudgesSeen | null
}
