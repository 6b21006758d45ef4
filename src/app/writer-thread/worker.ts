import { parentPort, workerData } from 'node:worker_threads'
import { fdatasyncSync } from '../../adapters/disk/files.js'
import type { JournalReport } from '../../adapters/journal/model.js'
import { unpackEntries, unpackRecord } from './pack.js'
import {
  type Answer,
  type Done,
  type Request,
  type ScribeData,
  type Status,
  type Told,
  toFault,
  type Write,
} from './protocol.js'
import { openStores, type StoreSeams, type Waiting } from './stores.js'

/**
 * The recording thread: journal and evidence live here, and statements are signed here. Writes are
 * begun in the order they were given, so evidence is with the kernel before the lines after it.
 */
const { place, now: startedAt, seams } = workerData as ScribeData
const port = parentPort
if (port === null) throw new Error('the scribe runs in a thread of its own')
const tell = (answer: Answer): void => port.postMessage(answer)

/**
 * One batch at a time is written here, so there is nothing else to do while the disk is at it: evidence
 * is synced by the pool, the journal right here, both at once and without a hop to another thread.
 */
const WAITING: Waiting = {
  gather: () => Promise.resolve(),
  files: { sync: async (fd) => fdatasyncSync(fd) },
}
/** Health may change with nothing under way: a disk that has room again, a segment found damaged. */
const LOOK_MS = 200

type Stores = Awaited<ReturnType<typeof openStores>>
let now = startedAt

async function start(): Promise<void> {
  const loaded: StoreSeams = seams === null ? {} : await import(seams)
  const report = (event: JournalReport): void => tell({ kind: 'report', report: event })
  const record = await openStores(place, { now: () => now }, report, loaded, WAITING)
  const { journal } = record
  let known = statusOf(record)
  tell({
    kind: 'opened',
    snapshot: journal.snapshot,
    head: journal.head(),
    at: journal.timestamp(),
    status: known,
  })
  const look = (): void => {
    const status = statusOf(record)
    if (isSame(status, known)) return
    known = status
    tell({ kind: 'status', status })
  }
  const looking = setInterval(look, LOOK_MS).unref()

  let before: Promise<readonly Done[]> = Promise.resolve([])
  const writeAll = async (number: number, writes: readonly Write[]): Promise<void> => {
    const done = Promise.all(writes.map((write) => settled(begin(write, record))))
    // Told in the order of the lines: they are folded as they are told.
    before = before.then(() => done)
    const told = await before
    // Whoever hears of a refusal can already read why.
    look()
    tell({ kind: 'written', number, done: told })
  }
  const answer = async (number: number, request: Request): Promise<void> => {
    const done = await settled(handle(request, record))
    tell({ kind: 'answered', number, done })
    if (request.kind !== 'close_all') return
    // Nothing is left to record: the thread ends with its last answer.
    clearInterval(looking)
    port?.close()
  }
  port?.on('message', (told: Told) => {
    if (told.kind === 'request') return void answer(told.number, told.request)
    now = told.now
    return void writeAll(told.number, told.writes)
  })
}

const settled = (promise: Promise<unknown>): Promise<Done> =>
  promise.then(
    (value) => [value, null],
    (error: unknown) => [undefined, toFault(error)],
  )

function begin(write: Write, { journal, evidence }: Stores): Promise<unknown> {
  const { urgent } = write
  switch (write.kind) {
    case 'append':
      // The judging thread has looked at them, with their members at hand.
      return journal.append(unpackEntries(write.entries), { urgent, checked: true })
    case 'put':
      return evidence.put(unpackRecord(write.record), { urgent })
  }
}

async function handle(request: Request, { journal, evidence }: Stores): Promise<unknown> {
  switch (request.kind) {
    case 'find':
      return journal.find(request.id, request)
    case 'list':
      return journal.list(request.filter, request.page)
    case 'extent':
      return journal.extent()
    case 'snapshot':
      return journal.writeSnapshot(request.state, request.upTo)
    case 'verified':
      return journal.verified
    case 'by_action':
      return evidence.byAction(request.actionId)
    case 'by_digest':
      return evidence.byDigest(request.digest)
    case 'in_index':
      return evidence.inIndex(request.digests)
    case 'key_of':
      return evidence.keyOf(request.scope)
    case 'names_under':
      return evidence.namesUnder(request.key)
    case 'put_public':
      return evidence.putPublic(request.digest, request.bytes)
    case 'get_public':
      return evidence.getPublic(request.digest)
    case 'erase':
      return evidence.erase(request.scope)
    case 'close_journal':
      return journal.close()
    case 'close_all':
      await journal.close()
      return evidence.close()
  }
}

const statusOf = ({ journal, evidence }: Stores): Status => ({
  journal: journal.health(),
  evidence: evidence.health(),
  findings: evidence.findings(),
})
const isSame = (a: Status, b: Status): boolean =>
  a.journal.reason === b.journal.reason &&
  a.evidence.reason === b.evidence.reason &&
  a.findings.length === b.findings.length

start().catch((error: unknown) => {
  tell({ kind: 'not_opened', fault: toFault(error) })
  port.close()
})
