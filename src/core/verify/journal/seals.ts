import { fromUtf8 } from '../../bytes/text.js'
import type { Crypto } from '../../crypto/crypto.js'
import { innerHash, type MerkleTree, merkleTree } from '../../journal/merkle.js'
import { readSeal, type Seal, sealFault } from '../../journal/seal.js'
import type { LineOf } from '../../journal/vocabulary.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import type { Findings } from '../finding.js'
import { detached, type Link } from './line.js'
import type { Missing } from './missing.js'

/** Of types; a hostile journal may name any number of them. */
const MOST = 256

/** Segments: each seal against the lines that stand before it in its segment (RFC 6962 root, counts by type). */
export function createSeals(
  keys: readonly PublicKeyRecord[] | undefined,
  crypto: Crypto,
  missing: Missing,
) {
  const inner = innerHash(crypto)
  let tree: MerkleTree = merkleTree(inner)
  const counts = new Map<string, number>()
  /** Null in a segment whose beginning is not known to be here. */
  let segment: number | null = null

  function compare(said: Seal, prev: string, findings: Findings): void {
    if (segment === null && said.size > tree.size) {
      const why = `segment ${said.segment} is not here whole: ${tree.size} of its ${said.size} lines are`
      missing.add('segment', why)
      return
    }
    const counted = {
      segment: segment ?? said.segment,
      size: tree.size,
      hash: prev,
      root: tree.root(),
    }
    const fault = sealFault(said, counted)
    if (fault !== null) findings.fault('seal_mismatch', fault)
  }

  function compareTypes(said: { readonly [type: string]: number }, findings: Findings): void {
    for (const type of new Set([...Object.keys(said), ...counts.keys()])) {
      const [says, found] = [said[type] ?? 0, counts.get(type) ?? 0]
      if (says === found) continue
      findings.fault('seal_count_mismatch', `it counts ${says} ${type}, here are ${found}`)
    }
  }

  /** Version 1: no head, so its signature is checked here. */
  function checkVersion1({ origin }: Link, raw: Uint8Array, kid: string, findings: Findings): void {
    if (keys === undefined) return
    const read = readSeal(fromUtf8(raw) ?? '', origin, keys, crypto)
    if (read.ok) return
    if (read.why.endsWith('kid_unknown')) missing.addKey(kid)
    else findings.fault('seal_signature', read.why)
  }

  return {
    /** The number of the segment that the first line begins; without it the file may begin anywhere in one. */
    from(number: number): void {
      segment = number
    },
    count({ hash, type }: Link): void {
      tree.push(hash)
      const name = counts.has(type) ? type : detached(type)
      if (counts.size < MOST || counts.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1)
    },
    check(link: Link, seal: LineOf<'SEGMENT_SEALED'>, raw: Uint8Array, findings: Findings): void {
      const known = segment !== null || seal.size === tree.size
      if (link.v === 1) checkVersion1(link, raw, seal.kid, findings)
      if ('head' in seal) {
        compare({ ...seal, hash: seal.head }, link.prev, findings)
      } else {
        compare(seal, link.prev, findings)
        if (known) compareTypes(seal.counts, findings)
      }
      tree = merkleTree(inner)
      counts.clear()
      segment = seal.segment + 1
    },
  }
}
