import { Worker } from 'node:worker_threads'
import type { OpenedEvidence } from '../../adapters/evidence/open.js'
import type { JournalReport } from '../../adapters/journal/model.js'
import { readLines } from '../../adapters/journal/read/lines.js'
import { entriesFault } from '../../adapters/journal/write/entry.js'
import { createStamp } from '../../adapters/journal/write/timestamp.js'
import { GateError } from '../../core/error.js'
import type { Clock } from '../../ports/clock.js'
import type { Head, Verified } from '../../ports/journal.js'
import { type Batcher, createBatcher } from './batcher.js'
import { handedEntries, owned, type PackedAppended, packRecord, unpackAppended } from './pack.js'
import {
  type FromWorker,
  fromFault,
  type Method,
  type Methods,
  type Status,
  type WorkerOptions,
} from './protocol.js'
import type { StoreOptions, Stores } from './stores.js'

type Opened = Extract<FromWorker, { kind: 'opened' }>

/** Threads run the build, also when this file itself runs from its source. */
const WORKER = import.meta.url.endsWith('.ts')
  ? new URL('../../../dist/app/writer-thread/worker.js', import.meta.url)
  : new URL('./worker.js', import.meta.url)

/**
 * Journal and evidence in a thread of their own: signing, hashing, encrypting and waiting for the disk cost the
 * thread that judges only the handing over. Same ports, same promises, one order of events.
 */
export async function openWriterThread(
  stores: StoreOptions,
  clock: Pick<Clock, 'now'>,
  report: (event: JournalReport) => void,
  seams: string | null,
): Promise<Stores> {
  const workerData: WorkerOptions = { stores, now: clock.now(), seams }
  const worker = new Worker(WORKER, { workerData, execArgv: [], name: 'writer' })
  const ended = new Promise<number>((resolve) => worker.once('exit', resolve))
  const thread: Thread = { worker, ended, closed: false }
  const opened = await handshake(thread, report)
  let { status } = opened
  const stamp = createStamp(clock, opened.at)
  const batcher = createBatcher(worker, () => Date.parse(stamp()))
  worker.on('message', (message: FromWorker) => {
    switch (message.kind) {
      case 'written':
        return batcher.written(message.number, message.results)
      case 'finished':
        return batcher.finished(message.number, message.result)
      case 'status':
        status = message.status
        return
      case 'report':
        return report(message.report)
      case 'opened':
      case 'not_opened':
        return
    }
  })
  let over = false
  const lost = (why: string): void => {
    // An error comes before the exit it leads to, and says more.
    if (over) return
    over = true
    const error = thread.closed
      ? new GateError('closed', 'the journal is closed')
      : new GateError('poisoned', `the recording thread ended: ${why}`)
    const reason = { ok: false, reason: error.message }
    status = { ...status, journal: reason, evidence: reason }
    batcher.lost(error)
  }
  worker.on('error', (error) => lost(String(error)))
  worker.on('messageerror', (error) => lost(String(error)))
  worker.on('exit', (code) => lost(`exit code ${code}`))
  worker.unref()
  return {
    journal: journalOf(stores, opened, stamp, batcher, thread, () => status),
    evidence: evidenceOf(batcher, thread, () => status),
  }
}

type Thread = {
  readonly worker: Worker
  readonly ended: Promise<number>
  /** Ended because it was told to. */
  closed: boolean
}

function handshake(
  { worker, ended }: Thread,
  report: (event: JournalReport) => void,
): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const receive = (message: FromWorker): void => {
      if (message.kind === 'report') {
        report(message.report)
        return
      }
      worker.off('message', receive).off('error', reject)
      if (message.kind === 'opened') resolve(message)
      // Locks are released with the thread: wait for its end, or a second try would find them taken.
      if (message.kind === 'not_opened') ended.then(() => reject(fromFault(message.fault)), reject)
    }
    worker.on('message', receive).once('error', reject)
  })
}

function journalOf(
  { journalDir, origin }: StoreOptions,
  opened: Opened,
  stamp: () => string,
  { write, request }: Batcher,
  thread: Thread,
  status: () => Status,
): Stores['journal'] {
  let head: Head = opened.head
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    if (!thread.closed) await request('closeJournal')
  }
  return {
    origin,
    async append(entries, { urgent = false, withNext = false } = {}) {
      const fault = entriesFault(entries)
      if (fault !== null) throw fault
      const order = { kind: 'append', entries: handedEntries(entries), urgent } as const
      const lines = unpackAppended((await write(order, { withNext })) as PackedAppended)
      const last = lines.at(-1)?.head
      if (last !== undefined && last.seq > head.seq) head = { seq: last.seq, hash: last.hash }
      return lines
    },
    timestamp: stamp,
    head: () => head,
    /** Read here, from the files: lines need not go from thread to thread. */
    async *lines(from = 1) {
      yield* readLines(journalDir, origin, await request('extent'), from)
    },
    find: (...args) => request('find', ...args),
    list: (...args) => request('list', ...args),
    health: () => status().journal,
    close: () => (closing ??= close()),
    snapshot: opened.snapshot,
    writeSnapshot: (...args) => request('writeSnapshot', ...args),
    verified: request('verified').catch(unverified),
  }
}

const unverified = (error: Error): Verified => ({
  segments: 0,
  lines: 0,
  archived: [],
  damage: `not read: ${error.message}`,
})

function evidenceOf(batcher: Batcher, thread: Thread, status: () => Status): OpenedEvidence {
  let closing: Promise<void> | null = null
  const closed = (): Promise<never> =>
    Promise.reject(new GateError('closed', 'the evidence store is closed'))
  const remote =
    <M extends Method>(method: M) =>
    async (...args: Parameters<Methods[M]>): Promise<Awaited<ReturnType<Methods[M]>>> =>
      closing === null ? await batcher.request(method, ...args) : closed()
  const close = async (): Promise<void> => {
    await batcher.request('closeAll')
    thread.closed = true
    // Closing waits to the end: locks and files are released with the thread.
    thread.worker.ref()
    await thread.ended
  }
  return {
    put(record, { urgent = false, withNext = false } = {}) {
      if (closing !== null) return closed()
      const transfer: ArrayBuffer[] = []
      const packed = packRecord(record, transfer)
      const order = { kind: 'put', record: packed, urgent } as const
      return batcher.write(order, { transfer, withNext }) as Promise<void>
    },
    byAction: remote('byAction'),
    byDigest: remote('byDigest'),
    inIndex: remote('inIndex'),
    keyOf: remote('keyOf'),
    namesUnder: remote('namesUnder'),
    putPublic: (digest, bytes) => remote('putPublic')(digest, owned(bytes)),
    getPublic: remote('getPublic'),
    erase: remote('erase'),
    health: () => status().evidence,
    findings: () => status().findings,
    close: () => (closing ??= close()),
  }
}
