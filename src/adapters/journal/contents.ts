import { newTree } from './hash.js'
import { type IdKey, type IdTable, newIdTable } from './ids.js'

/**
 * What a segment adds up to: its Merkle tree and where its ids stand. For the segment that boot found
 * open, the lines from before are read behind the running gate; those written meanwhile wait.
 */
export type Contents = {
  add(line: ContentLine): void
  /** Reject when the lines from before could not be read. */
  root(): Promise<string>
  ids(): Promise<IdTable>
  /** Nothing is being read any more, however that ended. */
  settled(): Promise<unknown>
}
export type ContentLine = {
  readonly hash: string
  readonly offset: number
  readonly ids: readonly IdKey[]
}

export function newContents(
  earlier?: (add: (line: ContentLine) => void) => Promise<void>,
): Contents {
  const tree = newTree()
  const ids = newIdTable()
  const take = (line: ContentLine): void => {
    tree.push(line.hash)
    for (const id of line.ids) ids.add(id, line.offset)
  }
  if (earlier === undefined) {
    const none = Promise.resolve()
    return { add: take, root: async () => tree.root(), ids: async () => ids, settled: () => none }
  }
  let waiting: ContentLine[] | null = []
  const reading = earlier(take).then(() => {
    for (const line of waiting ?? []) take(line)
    waiting = null
  })
  const settled = Promise.allSettled([reading])
  return {
    add(line) {
      if (waiting === null) take(line)
      else waiting.push(line)
    },
    root: () => reading.then(() => tree.root()),
    ids: () => reading.then(() => ids),
    settled: () => settled,
  }
}
