import type { IdTable } from './ids.js'

/** The segments a reader may meet, oldest first; the last one is being written. */
export type Segment = {
  readonly number: number
  /** Sequence number of its first line (of the line to come, while it is empty). */
  readonly first: number
  readonly archived: boolean
  /** Where ids stand, until the index file says it. */
  ids: IdTable | null
}
export type Catalog = Segment[]
