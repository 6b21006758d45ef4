import type { Crypto } from '../crypto.js'
import { read } from '../json/shape.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { verifyEvent } from './event.js'
import { lineShape, type MembersOf } from './vocabulary.js'

/** The last line of a closed segment: how many lines stand before it, their root, and the last one's hash. */
export const SEAL_TYPE = 'SEGMENT_SEALED'

export type Seal = MembersOf<typeof SEAL_TYPE>

export type SealCheck =
  | { readonly ok: true; readonly seal: Seal; readonly seq: number; readonly at: string }
  | { readonly ok: false; readonly why: string }

const shape = lineShape(SEAL_TYPE)

/** Shape and signature. What the seal says is compared with the lines by whoever holds them. */
export function readSeal(
  line: { readonly [member: string]: unknown },
  by: string,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): SealCheck {
  const { type, origin } = line
  if (type !== SEAL_TYPE) return { ok: false, why: `a ${String(type)} line where a seal belongs` }
  if (origin !== by) return { ok: false, why: `sealed by origin ${String(origin)}` }
  const got = read(shape, line)
  if (!got.ok) return { ok: false, why: `seal members are malformed: ${got.fault}` }
  const check = verifyEvent(line, keys, crypto)
  if (!check.ok) return { ok: false, why: `seal signature: ${check.code}` }
  const { segment, size, root, head, seq, at } = got.value
  return { ok: true, seal: { segment, size, root, head }, seq, at }
}

/** The first difference between what a seal says and what was counted, or null. */
export function sealFault(said: Seal, counted: Seal): string | null {
  for (const name of ['segment', 'size', 'head', 'root'] as const) {
    if (said[name] !== counted[name]) {
      return `seal says ${name} ${said[name]}, the lines give ${counted[name]}`
    }
  }
  return null
}
