import type { Contents } from './contents.js'

export type Stretch = {
  readonly number: number
  /** Sequence number of its first line (of the line to come, while it is empty). */
  readonly first: number
}
/** The segments a reader may meet, oldest first; the last one is being written. */
export type Segment = Stretch & {
  readonly archived: boolean
  /** Until the index file says where ids stand. */
  contents: Contents | null
}
export type Catalog = Segment[]
