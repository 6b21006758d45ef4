import { Worker } from 'node:worker_threads'
import type { OpenedEvidence } from '../../adapters/evidence/open.js'
import type { JournalReport } from '../../adapters/journal/model.js'
import { type Extent, readLines } from '../../adapters/journal/read/lines.js'
import { entriesFault } from '../../adapters/journal/write/entry.js'
import { createStamp } from '../../adapters/journal/write/timestamp.js'
import { GateError } from '../../core/error.js'
import type { Clock } from '../../ports/clock.js'
import type { Evidence } from '../../ports/evidence.js'
import type { Appended, CapsuleList, Head, JournalLine, Verified } from '../../ports/journal.js'
import { openPost, type Post } from './batcher.js'
import { owned, packEntries, packRecord } from './pack.js'
import { type Answer, fromFault, type Request, type ScribeData, type Status } from './protocol.js'
import type { Stores, StoresPlace } from './stores.js'

type Opened = Extract<Answer, { kind: 'opened' }>

/** Threads run the build, also when this file itself runs from its source. */
const SCRIBE = import.meta.url.endsWith('.ts')
  ? new URL('../../../dist/app/writer-thread/worker.js', import.meta.url)
  : new URL('./worker.js', import.meta.url)

/**
 * Journal and evidence in a thread of their own: sealing, hashing, encrypting and waiting for the disk
 * cost the thread that judges only the handing over. Same ports, same promises, one order of events.
 */
export async function openRecorder(
  place: StoresPlace,
  clock: Pick<Clock, 'now'>,
  report: (event: JournalReport) => void,
  seams: string | null,
): Promise<Stores> {
  const data: ScribeData = { place, now: clock.now(), seams }
  const worker = new Worker(SCRIBE, { workerData: data, execArgv: [], name: 'recorder' })
  const ended = new Promise<number>((resolve) => worker.once('exit', resolve))
  const thread: Thread = { worker, ended, closed: false }
  const opened = await handshake(thread, report)
  let { status } = opened
  const stamp = createStamp(clock, opened.at)
  const post = openPost(worker, () => Date.parse(stamp()))
  worker.on('message', (answer: Answer) => {
    switch (answer.kind) {
      case 'written':
        return post.written(answer.number, answer.done)
      case 'answered':
        return post.answered(answer.number, answer.done)
      case 'status':
        status = answer.status
        return
      case 'report':
        return report(answer.report)
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
    post.lost(error)
  }
  worker.on('error', (error) => lost(String(error)))
  worker.on('messageerror', (error) => lost(String(error)))
  worker.on('exit', (code) => lost(`exit code ${code}`))
  worker.unref()
  return {
    journal: journalOf(place, opened, stamp, post, thread, () => status),
    evidence: evidenceOf(post, thread, () => status),
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
    const settle = (end: () => void): void => {
      worker.off('message', hear).off('error', reject)
      end()
    }
    const hear = (answer: Answer): void => {
      switch (answer.kind) {
        case 'opened':
          settle(() => resolve(answer))
          break
        case 'not_opened':
          // Locks are let go of with the thread: wait for it, or a second try would meet them.
          settle(() => ended.then(() => reject(fromFault(answer.fault)), reject))
          break
        case 'report':
          report(answer.report)
          break
        case 'written':
        case 'answered':
        case 'status':
          break
      }
    }
    worker.on('message', hear).once('error', reject)
  })
}

function journalOf(
  { journalDir, origin }: StoresPlace,
  opened: Opened,
  stamp: () => string,
  post: Post,
  thread: Thread,
  status: () => Status,
): Stores['journal'] {
  let head: Head = opened.head
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    if (!thread.closed) await post.request({ kind: 'close_journal' })
  }
  const extent = async (): Promise<Extent> => (await post.request({ kind: 'extent' })) as Extent
  return {
    origin,
    async append(entries, { urgent = false } = {}) {
      const fault = entriesFault(entries)
      if (fault !== null) throw fault
      const write = { kind: 'append', entries: packEntries(entries), urgent } as const
      const lines = (await post.write(write)) as readonly Appended[]
      const last = lines.at(-1)?.head
      if (last !== undefined && last.seq > head.seq) head = { seq: last.seq, hash: last.hash }
      return lines
    },
    timestamp: stamp,
    head: () => head,
    /** Read here, from the files: lines need not go from thread to thread. */
    async *lines(from = 1) {
      yield* readLines(journalDir, origin, await extent(), from)
    },
    find: (id, { superseding = false } = {}) =>
      post.request({ kind: 'find', id, superseding }) as Promise<readonly JournalLine[]>,
    list: (filter, page) =>
      post.request({ kind: 'list', filter, page }) as Promise<CapsuleList<JournalLine>>,
    health: () => status().journal,
    close: () => (closing ??= close()),
    snapshot: opened.snapshot,
    writeSnapshot: (state, upTo) =>
      post.request({ kind: 'snapshot', state, upTo }) as Promise<void>,
    verified: (post.request({ kind: 'verified' }) as Promise<Verified>).catch(unverified),
  }
}

const unverified = (error: Error): Verified => ({
  segments: 0,
  lines: 0,
  archived: [],
  damage: `not read: ${error.message}`,
})

function evidenceOf(post: Post, thread: Thread, status: () => Status): OpenedEvidence {
  let closing: Promise<void> | null = null
  const closed = (): Promise<never> =>
    Promise.reject(new GateError('closed', 'the evidence store is closed'))
  const ask = (request: Request): Promise<unknown> =>
    closing === null ? post.request(request) : closed()
  const close = async (): Promise<void> => {
    await post.request({ kind: 'close_all' })
    thread.closed = true
    // Whoever closes waits to the end: locks and files go with the thread.
    thread.worker.ref()
    await thread.ended
  }
  return {
    put(record, { urgent = false } = {}) {
      if (closing !== null) return closed()
      const transfer: ArrayBuffer[] = []
      const packed = packRecord(record, transfer)
      return post.write({ kind: 'put', record: packed, urgent }, transfer) as Promise<void>
    },
    byAction: (actionId) =>
      ask({ kind: 'by_action', actionId }) as ReturnType<Evidence['byAction']>,
    byDigest: (digest) => ask({ kind: 'by_digest', digest }) as ReturnType<Evidence['byDigest']>,
    inIndex: (digests) => ask({ kind: 'in_index', digests }) as ReturnType<Evidence['inIndex']>,
    keyOf: (scope) => ask({ kind: 'key_of', scope }) as Promise<string | null>,
    namesUnder: (key) => ask({ kind: 'names_under', key }) as Promise<string>,
    putPublic: (digest, bytes) =>
      ask({ kind: 'put_public', digest, bytes: owned(bytes) }) as Promise<void>,
    getPublic: (digest) => ask({ kind: 'get_public', digest }) as Promise<Uint8Array | null>,
    erase: (scope) => ask({ kind: 'erase', scope }) as Promise<number>,
    health: () => status().evidence,
    findings: () => status().findings,
    close: () => (closing ??= close()),
  }
}
