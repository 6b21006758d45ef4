import { open } from 'node:fs/promises'
import type { MerkleTree } from '../../core/journal/merkle.js'
import { SEAL_TYPE } from '../../core/journal/seal.js'
import { blocks } from './blocks.js'
import { type Cursor, openChain } from './chain.js'
import { newTree } from './hash.js'

export type Scanned = {
  readonly cursor: Cursor
  readonly lines: number
  /** Bytes of whole lines; what follows them is `torn`. */
  readonly bytes: number
  readonly torn: Buffer
  /** Over every line but the seal. */
  readonly tree: MerkleTree
  /** Hash of the last line before the seal: what a seal's `head` names. */
  readonly head: string
  /** The last line's text; null for a segment without lines. */
  readonly last: string | null
  readonly sealed: boolean
}

export type LineSeen = {
  readonly buffer: Buffer
  readonly start: number
  /** Excludes the LF. */
  readonly stop: number
  /** The line's place in the file. */
  readonly offset: number
  readonly seq: number
  readonly hash: string
  readonly type: string
}

export const textOf = ({ buffer, start, stop }: LineSeen): string =>
  buffer.toString('utf8', start, stop)

const LF = 10

/** Reads one whole segment, checking every line against the chain that `from` ends. */
export async function scanSegment(
  file: string,
  origin: string,
  from: Cursor,
  visit: (line: LineSeen) => void,
): Promise<Scanned> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const chain = openChain(file, origin, from)
    const tree = newTree()
    let { seq } = from
    let head = from.prev
    let bytes = 0
    let last: string | null = null
    let sealed = false
    const reading = blocks(handle, file, 0, size)
    for (;;) {
      const next = await reading.next()
      if (next.done === true) {
        const end = { cursor: chain.cursor(), lines: chain.lines(), torn: next.value }
        return { ...end, bytes, tree, head, last, sealed }
      }
      const block = next.value
      const { buffer, end } = block
      let lastStart = block.start
      for (let start = block.start; start < end; ) {
        const stop = buffer.indexOf(LF, start)
        const { type, hash } = chain.step(buffer, start, stop)
        sealed = type === SEAL_TYPE
        if (!sealed) {
          tree.push(hash)
          head = hash
        }
        seq++
        visit({ buffer, start, stop, offset: block.offset + start - block.start, seq, hash, type })
        lastStart = start
        start = stop + 1
      }
      last = buffer.toString('utf8', lastStart, end - 1)
      bytes = block.offset + end - block.start
    }
  } finally {
    await handle.close()
  }
}
