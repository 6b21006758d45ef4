import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import type { Begun, Parts } from '../context.js'

/** Keys are the caller's text: only their digest is kept. */
export const hashKey = (
  { call }: Pick<Begun, 'call'>,
  { crypto }: Pick<Parts, 'crypto'>,
): string | null =>
  call.idempotencyKey === null ? null : hex(crypto.sha256(utf8(call.idempotencyKey)))
