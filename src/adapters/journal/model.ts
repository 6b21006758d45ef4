import type { VerifiedEntry } from '../../core/journal/entry.js'
import type { Plain } from '../../core/json/value.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import type { StatementToSign } from '../../core/statement/sign.js'
import type { Clock } from '../../ports/clock.js'
import type {
  CapsuleFilter,
  CapsuleList,
  CapsulePage,
  Head,
  Journal,
  JournalLine,
} from '../../ports/journal.js'
import type { Signer } from '../../ports/signer.js'
import type { Extent } from './read/lines.js'
import type { Appender } from './write/group-commit.js'

export type JournalOptions = {
  /** The folder; one writer at a time. */
  readonly dir: string
  readonly origin: string
  readonly signer: Signer
  /** Event keys that seals and snapshots may be signed with: every epoch, retired ones included. */
  readonly keys: readonly PublicKeyRecord[]
  readonly clock: Pick<Clock, 'now'>
  /** The file with a second copy of the newest head; outside `dir`, or it is restored together with it. */
  readonly headFile: string | null
  /** Starts without the second head that a journal with lines must have, and makes a new one. */
  readonly acceptMissingHead?: boolean
  /** What is wrong with a line by its own signature; null where nothing is. Asked behind the running gate. */
  readonly lineFault?: (line: JournalLine) => string | null
  /** MUST NOT throw. */
  readonly report?: Report
  readonly segmentBytes?: number
  readonly reserveBytes?: number
  readonly seams?: Seams
  readonly files?: Partial<Files>
}

/** What lines and heads are checked against. */
export type Trust = Pick<JournalOptions, 'origin' | 'keys'>

/** An entry as the driver takes it: the vocabulary of types is its writer's (core/journal/entry.ts). */
export type WrittenEntry = {
  readonly type: string
  /** The members as compact object text. */
  readonly json: string
  readonly members?: object
}
export type StatementEntry = WrittenEntry & {
  readonly type: 'CAPSULE'
  readonly seal: StatementToSign
}
/** The record of a verification, which the driver signs. */
export type RecordEntry = WrittenEntry & Pick<VerifiedEntry, 'type' | 'verifies'>
export type DriverEntry = WrittenEntry | StatementEntry | RecordEntry

export type OpenedJournal = Omit<Journal, 'append' | 'find' | 'list'> & {
  append: Appender['append']
  find(id: string, options?: { superseding?: boolean }): Promise<readonly JournalLine[]>
  list(filter: CapsuleFilter, page: CapsulePage): Promise<CapsuleList<JournalLine>>
  /** The newest state that boot could stand on; fold `lines(seq + 1)` on top. */
  readonly snapshot: { readonly seq: number; readonly state: Plain } | null
  /** `upTo` is the last line folded into `state`, as its append returned it; default: the head. */
  writeSnapshot(state: Plain, upTo?: Head): Promise<void>
  /** What a reader of the files may read right now, itself and without the writer. */
  extent(): Extent
}

export type Report = (report: JournalReport) => void
/** What an operator should be told. */
export type JournalReport =
  | {
      readonly kind: 'torn_tail'
      readonly file: string
      readonly bytes: number
      readonly kept: string
    }
  | { readonly kind: 'snapshot_ignored'; readonly why: string }
  /** Lines behind it were folded again, or all of them: after a crash, or where an older one was put back. */
  | { readonly kind: 'snapshot_behind'; readonly seq: number; readonly end: number }
  | { readonly kind: 'snapshot_failed'; readonly why: string }
  /** Of so many segments, the oldest, only the seals are here. */
  | { readonly kind: 'segments_archived'; readonly segments: number; readonly upto: number }
  | { readonly kind: 'head_file_missing'; readonly file: string }
  | { readonly kind: 'head_file_damaged'; readonly file: string; readonly why: string }
  /** It names an older head than the journal's newest: after a crash, or where an older one was put back. */
  | {
      readonly kind: 'head_file_behind'
      readonly file: string
      readonly upto: number
      readonly newest: number
    }
  | { readonly kind: 'head_file_failed'; readonly file: string; readonly why: string }
  | { readonly kind: 'index_rebuilt'; readonly file: string; readonly why: string }
  | { readonly kind: 'index_failed'; readonly file: string; readonly why: string }
  | { readonly kind: 'seal_failed'; readonly file: string; readonly why: string }
  | { readonly kind: 'suspended'; readonly why: string }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'poisoned'; readonly why: string }
  | { readonly kind: 'damaged'; readonly why: string }

/** Named points at which a crash test may end the process. */
export type SeamName =
  | 'before_write'
  | 'after_write'
  | 'before_sync'
  | 'after_sync'
  | 'before_seal'
  | 'after_seal'
  | 'before_snapshot'
  | 'after_snapshot'
export type Seams = { readonly [name in SeamName]?: () => void | Promise<void> }

/**
 * How the disk is reached. A thread with nothing else to do syncs in place; tests stand in here for
 * failures that no real disk can be made to have.
 */
export type Files = {
  /** May write less than asked, like write(2). */
  write(fd: number, buffer: Uint8Array, start: number, length: number): number
  sync(fd: number): Promise<void>
  truncate(fd: number, length: number): void
}

export const SEGMENT_BYTES = 64 * 1024 * 1024
/** Index entries are numbered with 24 bits, and no id takes fewer than 32 bytes of a line. */
export const MAX_SEGMENT_BYTES = 512 * 1024 * 1024
export const RESERVE_BYTES = 4 * 1024 * 1024
/** Room that must be free besides the reserve before ordinary lines are taken again. */
export const RESERVE_HEADROOM = 256 * 1024
