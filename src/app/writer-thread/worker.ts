import { parentPort, workerData } from 'node:worker_threads'
import { fdatasyncSync } from '../../adapters/disk/files.js'
import { packAppended, unpackRecord } from './pack.js'
import {
  type FromWorker,
  type Method,
  methodsOf,
  type Settled,
  type Status,
  type ToWorker,
  toFault,
  type WorkerOptions,
  type Write,
} from './protocol.js'
import { type OpenStores, openStores, type StoreSeams, type SyncOptions } from './stores.js'

/**
 * The writer thread: journal and evidence are open here, and statements are signed here. Writes are begun in the
 * order they were given, so evidence is with the kernel before the lines after it.
 */
const { stores, now: startedAt, seams } = workerData as WorkerOptions
const port = parentPort
if (port === null) throw new Error('the writer runs in a thread of its own')
const send = (message: FromWorker): void => port.postMessage(message)

/**
 * One batch at a time is written here, so there is nothing else to do while the disk is at it: evidence is synced by
 * the pool, the journal right here, both at once and without a hop to another thread.
 */
const SYNC: SyncOptions = {
  gather: () => Promise.resolve(),
  files: { sync: async (fd) => fdatasyncSync(fd) },
}
/** Health may change with nothing under way: a disk that has room again, a segment found damaged. */
const STATUS_MS = 200

let now = startedAt

async function start(): Promise<void> {
  const loaded: StoreSeams = seams === null ? {} : await import(seams)
  const opened = await openStores(
    stores,
    { now: () => now },
    (report) => send({ kind: 'report', report }),
    loaded,
    SYNC,
  )
  const { journal } = opened
  const methods = methodsOf(opened)
  let known = statusOf(opened)
  send({
    kind: 'opened',
    snapshot: journal.snapshot,
    head: journal.head(),
    at: journal.timestamp(),
    status: known,
  })
  const sendStatus = (): void => {
    const status = statusOf(opened)
    if (isSame(status, known)) return
    known = status
    send({ kind: 'status', status })
  }
  const timer = setInterval(sendStatus, STATUS_MS).unref()

  let before: Promise<readonly Settled[]> = Promise.resolve([])
  const writeAll = async (number: number, writes: readonly Write[]): Promise<void> => {
    const results = Promise.all(writes.map((write) => settled(begin(write, opened))))
    // Sent in the order of the lines, because they are folded in the order they arrive.
    before = before.then(() => results)
    const written = await before
    // The status arrives before a refusal, so that its reason can be read by then.
    sendStatus()
    send({ kind: 'written', number, results: written })
  }
  const run = async (number: number, method: Method, args: readonly unknown[]): Promise<void> => {
    const call = methods[method] as (...given: readonly unknown[]) => Promise<unknown>
    send({ kind: 'finished', number, result: await settled(call(...args)) })
    if (method !== 'closeAll') return
    // Nothing is left to write: the thread ends with this message.
    clearInterval(timer)
    port?.close()
  }
  port?.on('message', (message: ToWorker) => {
    if (message.kind === 'request') return void run(message.number, message.method, message.args)
    now = message.now
    return void writeAll(message.number, message.writes)
  })
}

const settled = (promise: Promise<unknown>): Promise<Settled> =>
  promise.then(
    (value) => [value, null],
    (error: unknown) => [undefined, toFault(error)],
  )

function begin(write: Write, { journal, evidence }: OpenStores): Promise<unknown> {
  const { urgent } = write
  switch (write.kind) {
    case 'append':
      // The judging thread has checked them, with their members at hand.
      return journal.append(write.entries, { urgent, checked: true }).then(packAppended)
    case 'put':
      return evidence.put(unpackRecord(write.record), { urgent })
  }
}

const statusOf = ({ journal, evidence }: OpenStores): Status => ({
  journal: journal.health(),
  evidence: evidence.health(),
  findings: evidence.findings(),
})
const isSame = (a: Status, b: Status): boolean =>
  a.journal.reason === b.journal.reason &&
  a.evidence.reason === b.evidence.reason &&
  a.findings.length === b.findings.length

start().catch((error: unknown) => {
  send({ kind: 'not_opened', fault: toFault(error) })
  port.close()
})
