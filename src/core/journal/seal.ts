import type { Crypto } from '../crypto.js'
import { isHex64 } from '../hex.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { verifyEvent } from './event.js'

/** The last line of a closed segment: how many lines stand before it, their root, and the last one's hash. */
export const SEAL_TYPE = 'SEGMENT_SEALED'

export type Seal = {
  readonly segment: number
  readonly size: number
  readonly root: string
  readonly head: string
}

export type SealCheck =
  | { readonly ok: true; readonly seal: Seal; readonly seq: number }
  | { readonly ok: false; readonly why: string }

/** Shape and signature. What the seal says is compared with the lines by whoever holds them. */
export function readSeal(
  line: { readonly [member: string]: unknown },
  origin: string,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): SealCheck {
  const { type, seq, segment, size, root, head } = line
  if (type !== SEAL_TYPE) return { ok: false, why: `a ${String(type)} line where a seal belongs` }
  if (line.origin !== origin) return { ok: false, why: `sealed by origin ${String(line.origin)}` }
  if (!isCount(seq) || !isCount(segment) || !isCount(size) || !isHex64(root) || !isHex64(head)) {
    return { ok: false, why: 'seal members are malformed' }
  }
  const check = verifyEvent(line, keys, crypto)
  if (!check.ok) return { ok: false, why: `seal signature: ${check.code}` }
  return { ok: true, seal: { segment, size, root, head }, seq }
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** The first difference between what a seal says and what was counted, or null. */
export function sealFault(said: Seal, counted: Seal): string | null {
  for (const name of ['segment', 'size', 'head', 'root'] as const) {
    if (said[name] !== counted[name]) {
      return `seal says ${name} ${said[name]}, the lines give ${counted[name]}`
    }
  }
  return null
}
