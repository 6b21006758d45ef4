import type { Contents } from './contents.js'
import type { Indexed } from './index-file.js'

export type Stretch = {
  readonly number: number
  /** Sequence number of its first line (of the line to come, while it is empty). */
  readonly first: number
}
/** The segments a reader may meet, oldest first; the last one is being written. */
export type Segment = Stretch & {
  readonly archived: boolean
  /** Until the index file says where ids and capsules stand. */
  contents: Contents | null
}
export type Catalog = Segment[]
/** The segments of one folder, and what can be looked up in them. */
export type Store = {
  readonly dir: string
  readonly catalog: Catalog
  /** Resolves when the segment's ids and capsules can be looked up. */
  indexed(segment: Segment): Promise<void>
  /** Holds the index of a closed segment against what all its lines gave; makes it anew where it says another thing. */
  compared(segment: Segment, contents: Contents, of: Indexed): Promise<void>
}
