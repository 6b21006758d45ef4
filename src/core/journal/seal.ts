import type { Crypto } from '../crypto/crypto.js'
import { faultOf } from '../json/shape.js'
import type { PublicKeyRecord } from '../statement/keys.js'
import { verifyEvent } from './event.js'
import { type HeadCheck, looselyRead, readHeadLine, type SealMembers } from './head.js'
import { lineShape, type MembersOf } from './vocabulary.js'

/** The last line of a closed segment: how many lines stand before it, their root, and the last one's hash. */
export const SEAL_TYPE = 'SEGMENT_SEALED'

/** What a seal of either version says of its segment; `hash` is of the line before it. */
export type Seal = Pick<SealMembers, 'segment' | 'size' | 'root' | 'hash'>

export type SealCheck =
  | {
      readonly ok: true
      readonly seal: Seal
      readonly seq: number
      readonly at: string
      /** What it says as the head of its batch; null in version 1. */
      readonly head: SealMembers | null
    }
  | { readonly ok: false; readonly why: string }

const shape = lineShape(SEAL_TYPE)

/** Shape, spelling and signature. What the seal says is compared with the lines by the caller, which holds them. */
export function readSeal(
  text: string,
  by: string,
  keys: readonly PublicKeyRecord[],
  crypto: Crypto,
): SealCheck {
  const line = looselyRead(text)
  const { type, origin } = line
  if (type !== SEAL_TYPE) return { ok: false, why: `a ${String(type)} line where a seal belongs` }
  if (origin !== by) return { ok: false, why: `sealed by origin ${String(origin)}` }
  const fault = faultOf(shape, line)
  if (fault !== null) return { ok: false, why: `seal members are malformed: ${fault}` }
  if (line.v === 2) return sealOf(readHeadLine(text, by, keys, crypto))
  const check = verifyEvent(line, keys, crypto)
  if (!check.ok) return { ok: false, why: `seal signature: ${check.code}` }
  const { segment, size, root, head, seq, at } = line as SealLine1
  return { ok: true, seal: { segment, size, root, hash: head }, seq, at, head: null }
}

type SealLine1 = Extract<MembersOf<typeof SEAL_TYPE>, { readonly head: string }> & {
  readonly seq: number
  readonly at: string
}

function sealOf(check: HeadCheck): SealCheck {
  if (!check.ok) return { ok: false, why: `seal: ${check.why}` }
  if (check.kind !== 'seal') return { ok: false, why: 'a head where a seal belongs' }
  const { segment, size, root, hash, upto, time } = check.seal
  const seal = { segment, size, root, hash }
  return { ok: true, seal, seq: upto + 1, at: time, head: check.seal }
}

/** The first difference between what a seal says and what was counted, or null. */
export function sealFault(said: Seal, counted: Seal): string | null {
  for (const name of ['segment', 'size', 'hash', 'root'] as const) {
    if (said[name] !== counted[name]) {
      return `seal says ${name} ${said[name]}, the lines give ${counted[name]}`
    }
  }
  return null
}
