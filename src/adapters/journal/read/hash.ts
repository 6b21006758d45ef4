import { hash } from 'node:crypto'
import { merkleTree } from '../../../core/journal/merkle.js'

/**
 * Leaf hash of the line at [start, end). The byte before it becomes the 0x00 of the leaf: hashing in
 * place saves a copy per line, and the caller's LF there has been read or is written again.
 */
export function leafHashAt(buffer: Buffer, start: number, end: number): string {
  const before = buffer[start - 1] as number
  buffer[start - 1] = 0
  const leaf = hash('sha256', buffer.subarray(start - 1, end), 'hex')
  buffer[start - 1] = before
  return leaf
}

function inner(left: string, right: string): string {
  const node = Buffer.allocUnsafe(65)
  node[0] = 1
  node.write(left, 1, 'hex')
  node.write(right, 33, 'hex')
  return hash('sha256', node, 'hex')
}

export const newTree = () => merkleTree(inner)
