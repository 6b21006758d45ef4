import type { Entry, Sealed } from '../core/journal/entry.js'
import type { SignedHead } from '../core/journal/head.js'
import type { JournalLine, Line, LineOf } from '../core/journal/vocabulary.js'

export type { JournalLine, Line }
/** Only the vocabulary's own entries can be appended (core/journal/entry.ts). */
export type JournalEntry = Entry
/** Lines that are found by the ids they name. */
export type IndexedLine = LineOf<'CAPSULE' | 'ACTION_DISPATCHED'>
/** A line of the journal: its number, and its leaf hash, which the next line links to. */
export type Head = { readonly seq: number; readonly hash: string }
/** The signed head that ends a batch: the position of its own line, and what it signs of all lines before. */
export type CoveringHead = Head & { readonly signed: SignedHead }
export type Appended = Head & {
  readonly prev: string
  readonly at: string
  readonly head: CoveringHead
  readonly sealed?: Sealed
}

/** What a capsule must be to be listed; a member that is not given is any. */
export type CapsuleFilter = {
  readonly verdict?: string | undefined
  /** Of the line's `about`, else of the dispatch that it concludes. */
  readonly tool?: string | undefined
  /** As `tool`; a capsule with neither is found by its developer's name. */
  readonly agent?: string | undefined
  /** Its decision_id, or its action_id where it has none. */
  readonly decision?: string | undefined
  /** RFC 3339, both included; the line's own time counts. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}
/** Newest first before a line (null: from the head on), or oldest first after a line (0: from the start). */
export type CapsulePage =
  | { readonly before: number | null; readonly limit: number }
  | { readonly after: number; readonly limit: number }
/** A driver gives lines as they stand in the file; the gate's own journal has read them. */
export type CapsuleEntry<L = LineOf<'CAPSULE'>> = {
  readonly seq: number
  readonly at: string
  /** Of the line's `about` or its dispatch; null where there is neither. */
  readonly agent: string | null
  readonly tool: string | null
  readonly line: L
}
export type CapsuleList<L = LineOf<'CAPSULE'>> = {
  readonly entries: readonly CapsuleEntry<L>[]
  /** The next page's `before` or `after`; null when there is no further match. */
  readonly next: number | null
}

export type Journal = {
  readonly origin: string
  /**
   * MUST NOT resolve before all the lines are durable, totally ordered and covered by a signed head; entries of
   * one call MUST be adjacent. MUST reject, leaving no part of them behind for a later reader, if they cannot be written.
   * MUST accept `urgent` entries (conclusions of calls already dispatched) out of the preallocated
   * reserve when the disk is full. Entries `withNext` have their place in the order at once, and may wait
   * for the next append before they are written: whoever gives them MUST give another.
   */
  append(
    entries: readonly JournalEntry[],
    options?: { urgent?: boolean; withNext?: boolean },
  ): Promise<readonly Appended[]>
  /** The timestamp the next line may carry: now, but never before the last line's. */
  timestamp(): string
  /** The last line, which is a head or a seal; number 0 before the first. */
  head(): Head
  /** Lines with seq ≥ from, in order, as parsed; checks linkage as it reads, members are `readLine`'s. */
  lines(from?: number): AsyncIterable<JournalLine>
  /**
   * By action_id or capsule_id, newest first; uses the segment indexes. `superseding` adds the capsules
   * that supersede that one.
   */
  find(id: string, options?: { superseding?: boolean }): Promise<readonly IndexedLine[]>
  /**
   * CAPSULE lines by their members, page by page. MUST be complete: a page has `limit` entries, or `next`
   * is null, or the line after it was archived. MUST give no line whose members do not match or that is
   * not the one its successor links to. MUST NOT read more than the lines it returns, their dispatches,
   * one match beyond them and the index rows of the segments it passes. MUST reject when the page's first
   * match was archived, and pass archived segments that hold no match.
   */
  list(filter: CapsuleFilter, page: CapsulePage): Promise<CapsuleList>
  /** MUST refuse before dispatch while below the reserve: `ok: false` names why. */
  health(): { readonly ok: boolean; readonly reason: string | null }
  /**
   * Resolves when every line's own signature was checked and every closed segment read whole, in the background;
   * MUST NOT reject.
   */
  readonly verified: Promise<Verified>
  close(): Promise<void>
}
export type Verified = {
  readonly segments: number
  readonly lines: number
  /** Segments that are no longer here; their signed seals are. */
  readonly archived: readonly string[]
  readonly damage: string | null
}
