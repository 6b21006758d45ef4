import { parentPort, workerData } from 'node:worker_threads'
import {
  type Batch,
  type Done,
  type Order,
  type ScribeData,
  type Status,
  type Told,
  toFault,
} from './protocol.js'
import { openRecord, type RecordSeams } from './record.js'

/**
 * The recording thread: journal and evidence live here, and statements are signed here. Orders are
 * begun in the order they were given, so evidence is with the kernel before the lines after it.
 */
const { place, now: startedAt, seams } = workerData as ScribeData
const port = parentPort
if (port === null) throw new Error('the scribe runs in a thread of its own')
const tell = (told: Told): void => port.postMessage(told)

type Record = Awaited<ReturnType<typeof openRecord>>
let now = startedAt
const statusOf = ({ journal, evidence }: Record): Status => ({
  journal: journal.health(),
  evidence: evidence.health(),
  findings: evidence.findings(),
})

/** Health may change with no order under way: a disk that has room again, a segment found damaged. */
const LOOK_MS = 200

async function start(): Promise<void> {
  const loaded: RecordSeams = seams === null ? {} : await import(seams)
  const report = (event: Parameters<Parameters<typeof openRecord>[2]>[0]): void =>
    tell({ kind: 'report', report: event })
  const record = await openRecord(place, { now: () => now }, report, loaded)
  const { journal } = record
  let known = statusOf(record)
  tell({
    kind: 'opened',
    snapshot: journal.snapshot,
    head: journal.head(),
    at: journal.timestamp(),
    status: known,
  })

  let done: Done[] = []
  let due = false
  const flush = (): void => {
    due = false
    const status = statusOf(record)
    const changed = !isSame(status, known)
    known = status
    if (done.length === 0 && !changed) return
    const answers = done
    done = []
    tell({ kind: 'done', done: answers, status: changed ? status : null })
  }
  /** Everything that ends in this turn of the loop is told together. */
  const finish = (one: Done): void => {
    done.push(one)
    if (due) return
    due = true
    setImmediate(flush)
  }
  const looking = setInterval(flush, LOOK_MS).unref()

  /** Nothing is left to record: the thread ends with its last answer. */
  const end = (): void => {
    clearInterval(looking)
    flush()
    port?.close()
  }

  port?.on('message', (batch: Batch) => {
    now = batch.now
    for (const [number, order] of batch.orders) {
      const carried = carryOut(order, record).then(
        (value) => finish([number, value, null]),
        (error: unknown) => finish([number, undefined, toFault(error)]),
      )
      if (order.kind === 'close_all') carried.then(end, end)
    }
  })
}

function carryOut(order: Order, { journal, evidence }: Record): Promise<unknown> {
  switch (order.kind) {
    case 'append':
      return journal.append(order.entries, { urgent: order.urgent })
    case 'put':
      return evidence.put(order.record, { urgent: order.urgent })
    case 'find':
      return journal.find(order.id)
    case 'extent':
      return Promise.resolve(journal.extent())
    case 'snapshot':
      return journal.writeSnapshot(order.state, order.upTo)
    case 'verified':
      return journal.verified
    case 'by_action':
      return evidence.byAction(order.actionId)
    case 'by_digest':
      return evidence.byDigest(order.digest)
    case 'put_public':
      return evidence.putPublic(order.digest, order.bytes)
    case 'get_public':
      return evidence.getPublic(order.digest)
    case 'erase':
      return evidence.erase(order.scope)
    case 'close_journal':
      return journal.close()
    case 'close_all':
      return journal.close().then(() => evidence.close())
  }
}

const isSame = (a: Status, b: Status): boolean =>
  a.journal.reason === b.journal.reason &&
  a.evidence.reason === b.evidence.reason &&
  a.findings.length === b.findings.length

start().catch((error: unknown) => {
  tell({ kind: 'not_opened', fault: toFault(error) })
  port.close()
})
