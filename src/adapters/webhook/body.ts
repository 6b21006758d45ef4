import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import { nodeCrypto } from '../crypto-node.js'
import type { EventType, WebhookEvent } from './model.js'

/** Standard Webhooks 1.0: `{type, timestamp, data}`, thin, below 20 kB. */
export const MAX_BODY = 20_000

export const bodyOf = (event: WebhookEvent, link: (page: string) => string | null): string =>
  JSON.stringify({
    type: event.type,
    timestamp: event.at,
    data: { ...event.data, link: event.page === null ? null : link(event.page) },
  })

/** Follows from what it is about, so that a receiver knows a repetition, also one after a crash. */
export const deliveryId = (
  origin: string,
  seq: number,
  type: EventType,
  endpoint: string,
): string =>
  `msg_${hex(nodeCrypto.sha256(utf8(JSON.stringify([origin, seq, type, endpoint])))).slice(0, 32)}`
