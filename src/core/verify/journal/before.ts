import { utf8 } from '../../bytes/text.js'
import type { Crypto } from '../../crypto/crypto.js'
import { FIRST_PREV, leafHash } from '../../journal/line.js'
import { readSeal, type SealCheck } from '../../journal/seal.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import { clip, type Findings } from '../finding.js'
import type { Link } from './line.js'
import type { Missing } from './missing.js'

/**
 * What stands before the first line given: nothing, archived segments whose signed seals are kept, or lines of
 * which nothing is known.
 */
export type Beginning =
  | { readonly kind: 'start' }
  | { readonly kind: 'archived'; readonly segments: number; readonly seal: Kept }
  | { readonly kind: 'middle' }
type Kept = Extract<SealCheck, { readonly ok: true }>

export function beginningOf(
  first: Pick<Link, 'origin' | 'seq' | 'prev'>,
  given: {
    readonly seals: readonly string[]
    readonly keys: readonly PublicKeyRecord[] | undefined
  },
  crypto: Crypto,
  findings: Findings,
  missing: Missing,
): Beginning {
  if (first.prev === FIRST_PREV) return { kind: 'start' }
  const { seals, keys } = given
  if (seals.length === 0 || keys === undefined)
    return middle(first, 'nor the seal before them', missing)
  let last: Kept | null = null
  let segments = 0
  for (const text of seals) {
    const read = readSeal(text, first.origin, keys, crypto)
    if (!read.ok) {
      if (read.why.endsWith('kid_unknown')) return middle(first, `${clip(read.why)}`, missing)
      findings.fault('seal_kept_broken', `kept seal ${segments + 1}: ${clip(read.why)}`)
      return { kind: 'middle' }
    }
    segments++
    if (read.seal.segment !== segments)
      return middle(first, `nor a kept seal of segment ${segments}`, missing)
    if (leafHash(utf8(text), crypto) === first.prev) last = read
  }
  if (last === null || last.seal.segment !== segments)
    return middle(first, 'and no kept seal is of the line before it', missing)
  return { kind: 'archived', segments, seal: last }
}

function middle({ seq }: Pick<Link, 'seq'>, why: string, missing: Missing): Beginning {
  missing.add('beginning', `it begins with line ${seq}: the lines before it are not here, ${why}`)
  return { kind: 'middle' }
}
