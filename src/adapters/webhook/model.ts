import type { LineOf } from '../../core/journal/vocabulary.js'
import type { Plain } from '../../core/json/value.js'

/** What an endpoint may subscribe to. */
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

export type EventData = { readonly [name: string]: Plain }

/** What a journal line establishes, as an endpoint is told of it. */
export type WebhookEvent = {
  readonly type: EventType
  /** The line's own time. */
  readonly at: string
  /** Events of one approval reach an endpoint in their order. */
  readonly approval: string | null
  /** From this moment on it is too late to act on it. */
  readonly deadline: string | null
  /** Where the admin plane shows it; null where it does not. */
  readonly page: string | null
  readonly data: EventData
}

export type Delivery = Pick<WebhookEvent, 'type' | 'at' | 'approval' | 'deadline'> & {
  /** `webhook-id`: the same for every attempt, also after a restart. */
  readonly id: string
  readonly endpoint: string
  readonly seq: number
  readonly body: string
  readonly tries: number
  /** Milliseconds since the epoch. */
  readonly next: number
  /** What the last attempt ended with. */
  readonly why: string | null
}
/** Given up: kept for an operator to list and to replay. */
export type FailedDelivery = Delivery & { readonly why: string; readonly since: string }

/** What the log, the metrics and the journal are told. */
export type WebhookReport =
  | { readonly kind: 'delivered' | 'retry'; readonly delivery: Delivery }
  | { readonly kind: 'dead'; readonly delivery: FailedDelivery }
  /** So many of the oldest failed deliveries were dropped. */
  | { readonly kind: 'forgotten'; readonly count: number }
  | { readonly kind: 'disabled' | 'enabled'; readonly endpoint: string }
  /** An operator's request was refused, the outbox not written, or a part of the journal not read. */
  | { readonly kind: 'order_refused' | 'unwritten' | 'unread'; readonly why: string }
/** MUST NOT throw. */
export type Report = (report: WebhookReport) => void

/** An open request to a human, as far as notifications name it. */
export type ApprovalSeen = Pick<
  LineOf<'APPROVAL_OPENED'>,
  'tool' | 'agent' | 'operator' | 'document_digest' | 'session_id' | 'holds'
> & {
  /** The capsule that the next one supersedes. */
  readonly capsule_id: string
  readonly deadline: { readonly at: string; readonly on_expiry: string }
  readonly approved: boolean
}
export type JudgesSeen = Pick<
  LineOf<'CONFIG_CHANGED'>,
  'policy_digest' | 'manifest_digests' | 'mode'
>
/** What an event needs from lines before its own. */
export type Context = {
  readonly approvals: ReadonlyMap<string, ApprovalSeen>
  readonly judges: JudgesSeen | null
}
export type ContextChange = {
  /** Null: closed. */
  readonly approvals?: { readonly [id: string]: ApprovalSeen | null }
  readonly judges?: JudgesSeen | null
}
