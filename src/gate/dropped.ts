import { hmacSha256 } from '../core/approval/voter.js'
import { hex } from '../core/hex.js'
import { plainEntry } from '../core/journal/entry.js'
import { utf8 } from '../core/text.js'
import type { Parts } from './stage.js'

export type Dropped = {
  /** A network address. */
  readonly source: string
  readonly count: number
  readonly windowSeconds: number
}

/** One counted event per source and window instead of a capsule for each (DESIGN §7). */
export async function recordDropped(
  { source, count, windowSeconds }: Dropped,
  { journal, crypto, tenantSalt }: Pick<Parts, 'journal' | 'crypto' | 'tenantSalt'>,
): Promise<void> {
  const source_hash = hex(hmacSha256(utf8(tenantSalt), utf8(source), crypto))
  const members = { source_hash, count, window_seconds: windowSeconds }
  await journal.append([plainEntry('REFUSALS_DROPPED', members)])
}
