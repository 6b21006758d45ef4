import type { JournalReport, OpenedJournal } from '../../adapters/journal/model.js'
import type { HandedEntry } from '../../adapters/journal/write/entry.js'
import { GateError } from '../../core/error.js'
import type { Evidence } from '../../ports/evidence.js'
import type { Head, Journal } from '../../ports/journal.js'
import type { PackedRecord } from './pack.js'
import type { OpenStores, StoreOptions } from './stores.js'

/** What the judging thread and the writer thread send each other: plain values, in order. */
export type WorkerOptions = {
  readonly stores: StoreOptions
  readonly now: number
  /** A module that exports named points for crash tests; the thread imports it. */
  readonly seams: string | null
}

/** What every call writes. All that is ordered while a batch is written goes in the next one. */
export type Write =
  | { readonly kind: 'append'; readonly entries: readonly HandedEntry[]; readonly urgent: boolean }
  | { readonly kind: 'put'; readonly record: PackedRecord; readonly urgent: boolean }

/** Everything else the worker does for the judging thread, one by one and past the batches: some of it takes long. */
export const methodsOf = ({ journal, evidence }: OpenStores) => ({
  find: journal.find,
  list: journal.list,
  extent: async () => journal.extent(),
  writeSnapshot: journal.writeSnapshot,
  verified: () => journal.verified,
  byAction: evidence.byAction,
  byDigest: evidence.byDigest,
  inIndex: evidence.inIndex,
  keyOf: evidence.keyOf,
  namesUnder: evidence.namesUnder,
  putPublic: evidence.putPublic,
  getPublic: evidence.getPublic,
  erase: evidence.erase,
  closeJournal: () => journal.close(),
  closeAll: async () => {
    await journal.close()
    await evidence.close()
  },
})
export type Methods = ReturnType<typeof methodsOf>
export type Method = keyof Methods

export type ToWorker =
  | {
      readonly kind: 'batch'
      readonly number: number
      /** The judging thread's clock, so that no line is stamped before a call it is about. */
      readonly now: number
      readonly writes: readonly Write[]
    }
  | {
      readonly kind: 'request'
      readonly number: number
      readonly method: Method
      readonly args: readonly unknown[]
    }

export type Status = {
  readonly journal: ReturnType<Journal['health']>
  readonly evidence: ReturnType<Evidence['health']>
  readonly findings: readonly string[]
}
export type Settled = readonly [value: unknown, fault: Fault | null]
export type FromWorker =
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
  | { readonly kind: 'written'; readonly number: number; readonly results: readonly Settled[] }
  | { readonly kind: 'finished'; readonly number: number; readonly result: Settled }
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
