import { fromHex, hex } from '../bytes/hex.js'
import type { Hashing } from '../crypto/crypto.js'

/**
 * RFC 6962 §2.1 tree head over leaf hashes, one leaf at a time: only the roots of the complete
 * subtrees are kept (at most one per level), so a segment of any length costs a few strings.
 */
export type InnerHash = (left: string, right: string) => string

export type MerkleTree = {
  readonly size: number
  push(leaf: string): void
  /** The root of what was pushed so far; the tree goes on. */
  root(): string
}

/** SHA-256 of nothing (RFC 6962 §2.1). */
export const EMPTY_ROOT = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

export function merkleTree(inner: InnerHash): MerkleTree {
  const roots: string[] = []
  let size = 0
  return {
    get size() {
      return size
    },
    push(leaf) {
      let node = leaf
      // Every trailing one-bit of the old size is a complete subtree that now finds its sibling.
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
        node = inner(roots.pop() as string, node)
      }
      roots.push(node)
      size++
    },
    root() {
      if (roots.length === 0) return EMPTY_ROOT
      return roots.reduceRight((right, left) => inner(left, right))
    },
  }
}

/** SHA-256(0x01 ‖ left ‖ right) for callers without a faster way. */
export function innerHash(crypto: Hashing): InnerHash {
  return (left, right) => {
    const node = new Uint8Array(65)
    node[0] = 1
    node.set(fromHex(left) ?? [], 1)
    node.set(fromHex(right) ?? [], 33)
    return hex(crypto.sha256(node))
  }
}
