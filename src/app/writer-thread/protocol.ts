import type { JournalReport, OpenedJournal } from '../../adapters/journal/model.js'
import { GateError } from '../../core/error.js'
import type { ErasureScope, Evidence } from '../../ports/evidence.js'
import type { CapsuleFilter, CapsulePage, Head, Journal } from '../../ports/journal.js'
import type { PackedEntries, PackedRecord } from './pack.js'
import type { StoresPlace } from './stores.js'

/** What the judging thread and the recording thread say to each other: plain values, in order. */
export type ScribeData = {
  readonly place: StoresPlace
  readonly now: number
  /** A module that exports named points for crash tests; the thread imports it. */
  readonly seams: string | null
}

/** What every call leaves: many a second. All that is ordered while a batch is written goes in the next. */
export type Write =
  | { readonly kind: 'append'; readonly entries: PackedEntries; readonly urgent: boolean }
  | { readonly kind: 'put'; readonly record: PackedRecord; readonly urgent: boolean }
/** Anything else, one by one and past the batches: some of it takes long. */
export type Request =
  | { readonly kind: 'find'; readonly id: string; readonly superseding: boolean }
  | { readonly kind: 'list'; readonly filter: CapsuleFilter; readonly page: CapsulePage }
  | { readonly kind: 'extent' }
  | {
      readonly kind: 'snapshot'
      readonly state: Parameters<OpenedJournal['writeSnapshot']>[0]
      readonly upTo: Head | undefined
    }
  | { readonly kind: 'verified' }
  | { readonly kind: 'by_action'; readonly actionId: string }
  | { readonly kind: 'by_digest'; readonly digest: string }
  | { readonly kind: 'in_index'; readonly digests: readonly string[] }
  | { readonly kind: 'key_of'; readonly scope: ErasureScope }
  | { readonly kind: 'names_under'; readonly key: string }
  | { readonly kind: 'put_public'; readonly digest: string; readonly bytes: Uint8Array }
  | { readonly kind: 'get_public'; readonly digest: string }
  | { readonly kind: 'erase'; readonly scope: ErasureScope }
  | { readonly kind: 'close_journal' }
  | { readonly kind: 'close_all' }

export type Told =
  | {
      readonly kind: 'batch'
      readonly number: number
      /** The judging thread's clock, so that no line is stamped before a call it is about. */
      readonly now: number
      readonly writes: readonly Write[]
    }
  | { readonly kind: 'request'; readonly number: number; readonly request: Request }

export type Status = {
  readonly journal: ReturnType<Journal['health']>
  readonly evidence: ReturnType<Evidence['health']>
  readonly findings: readonly string[]
}
export type Done = readonly [value: unknown, fault: Fault | null]
export type Answer =
  | {
      readonly kind: 'opened'
      readonly snapshot: OpenedJournal['snapshot']
      readonly head: Head
      /** The last line's own time. */
      readonly at: string
      readonly status: Status
    }
  | { readonly kind: 'not_opened'; readonly fault: Fault }
  /** In the order of the batch. */
  | { readonly kind: 'written'; readonly number: number; readonly done: readonly Done[] }
  | { readonly kind: 'answered'; readonly number: number; readonly done: Done }
  | { readonly kind: 'status'; readonly status: Status }
  | { readonly kind: 'report'; readonly report: JournalReport }

/** An error as plain values: classes do not survive the way between threads. */
export type Fault = Pick<Error, 'name' | 'message'> &
  Partial<Pick<GateError, 'code' | 'file' | 'line'>>

export function toFault(error: unknown): Fault {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  if (!(error instanceof GateError)) return { name, message }
  const { code, file, line } = error
  return { name, message, code, file, line }
}

export function fromFault({ name, message, code, file, line }: Fault): Error {
  if (code === undefined) return Object.assign(new Error(message), { name })
  // The message names the location already.
  return Object.assign(new GateError(code, ''), { message, file, line })
}
