import type { DeadLetter, Delivery } from './model.js'

/** What operators, metrics and the journal hear of. */
export type WebhookReport =
  | { readonly kind: 'delivered'; readonly delivery: Delivery }
  | { readonly kind: 'retry'; readonly delivery: Delivery }
  | { readonly kind: 'dead'; readonly letter: DeadLetter }
  /** The oldest dead letters had to go. */
  | { readonly kind: 'forgotten'; readonly letters: number }
  | { readonly kind: 'disabled' | 'enabled'; readonly endpoint: string }
  | { readonly kind: 'order_refused'; readonly why: string }
  /** The outbox could not be written, or a stretch of the journal not be read. */
  | { readonly kind: 'unwritten' | 'unread'; readonly why: string }

/** MUST NOT throw. */
export type Tell = (report: WebhookReport) => void
