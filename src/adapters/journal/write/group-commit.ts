import { GateError } from '../../../core/error.js'
import type { Appended, Journal } from '../../../ports/journal.js'
import type { Signer } from '../../../ports/signer.js'
import { messageOf, writeFailure } from '../../disk/errno.js'
import type { Reserve } from '../../disk/reserve.js'
import type { Report } from '../model.js'
import type { Committer } from './commit.js'
import { HEAD_ROOM } from './compose.js'
import {
  entriesFault,
  type HandedEntry,
  type SignedEntry,
  signEntry,
  withMembers,
} from './entry.js'

/**
 * Group commit: calls queue while a batch is on its way to the disk, and go together in the next. A
 * full or failing disk suspends ordinary entries; urgent ones may use up the reserve.
 */
type Pending = {
  readonly entries: readonly SignedEntry[]
  readonly chars: number
  readonly urgent: boolean
  readonly resolve: (lines: readonly Appended[]) => void
  readonly reject: (error: unknown) => void
}

export type Appender = {
  /** `checked`: the caller has been through `entriesFault`, where it had the members at hand. */
  append(
    entries: readonly HandedEntry[],
    options?: { urgent?: boolean; checked?: boolean },
  ): ReturnType<Journal['append']>
  /** Why ordinary entries are refused at present. */
  suspended(): string | null
  /** Sets the reserve aside before the first call; without room for it the journal starts suspended. */
  start(): Promise<void>
  close(): Promise<void>
}

const BATCH_CHARS = 1024 * 1024
const PROBE_MS = 500

export function createAppender(
  committer: Committer,
  signer: Signer,
  reserve: Reserve,
  /** Called when a batch is on the disk. */
  durable: () => void,
  report: Report,
): Appender {
  let queue: Pending[] = []
  let running: Promise<void> | null = null
  let suspension: GateError | null = null
  let probeDue = false
  let probing: NodeJS.Timeout | null = null
  let closed = false

  const run = async (): Promise<void> => {
    try {
      while (queue.length > 0 || probeDue) {
        if (probeDue) await probe()
        const batch = take()
        if (batch.length > 0) await flush(batch)
      }
    } finally {
      running = null
    }
  }
  const wake = (): void => {
    running ??= Promise.resolve().then(run)
  }

  const take = (): Pending[] => {
    let count = 0
    for (let chars = 0; count < queue.length && chars < BATCH_CHARS; count++) {
      chars += queue[count]?.chars ?? 0
    }
    const batch = queue.slice(0, count)
    queue = queue.slice(count)
    return batch
  }

  const flush = async (batch: readonly Pending[]): Promise<void> => {
    const admitted = suspension === null ? batch : batch.filter(isUrgent)
    if (suspension !== null) rejectAll(batch.filter(isOrdinary), suspension)
    try {
      await write(admitted)
    } catch (error) {
      // Whatever else goes wrong, no caller is left waiting.
      await recover(admitted, error).catch((again) => rejectAll(admitted, again))
    }
  }

  const write = async (batch: readonly Pending[]): Promise<void> => {
    if (batch.length === 0) return
    const lines = await committer.commit(batch.flatMap((pending) => pending.entries))
    let from = 0
    for (const { entries, resolve } of batch) {
      resolve(lines.slice(from, from + entries.length))
      from += entries.length
    }
    durable()
  }

  /** The batch is off the disk again. Conclusions get the reserve's space, step by step; the rest is refused. */
  const recover = async (batch: readonly Pending[], first: unknown): Promise<void> => {
    let error = first
    if (committer.poison() === null) suspend(error)
    rejectAll(batch.filter(isOrdinary), error)
    const urgent = batch.filter(isUrgent)
    const bytes = urgent.reduce((sum, { chars }) => sum + 3 * chars, HEAD_ROOM)
    while (isDiskFull(error) && urgent.length > 0 && reserve.release(bytes)) {
      try {
        return await write(urgent)
      } catch (again) {
        error = again
      }
    }
    rejectAll(urgent, error)
  }

  const suspend = (error: unknown): void => {
    if (suspension === null) report({ kind: 'suspended', why: messageOf(error) })
    suspension = error instanceof GateError ? error : writeFailure(error, 'journal')
    probing ??= setInterval(() => {
      probeDue = true
      wake()
    }, PROBE_MS).unref()
  }

  /** Runs between batches, so that it never takes the space a conclusion is about to use. */
  const probe = async (): Promise<void> => {
    probeDue = false
    try {
      await reserve.restore()
    } catch (error) {
      if (suspension === null) suspend(writeFailure(error, 'reserve'))
      return
    }
    if (probing !== null) clearInterval(probing)
    probing = null
    if (suspension !== null) report({ kind: 'resumed' })
    suspension = null
  }

  return {
    append(entries, options) {
      return new Promise((resolve, reject) => {
        if (closed) throw new GateError('closed', 'the journal is closed')
        const poison = committer.poison()
        if (poison !== null) throw poison
        const urgent = options?.urgent === true
        const checked = options?.checked === true
        const read = checked ? entries : entries.map(withMembers)
        const fault = checked ? null : entriesFault(read)
        if (fault !== null) throw fault
        const signed = read.map((entry) => signEntry(entry, signer))
        const chars = signed.reduce((sum, { json }) => sum + json.length, 0)
        if (entries.length === 0) return resolve([])
        queue.push({ entries: signed, chars, urgent, resolve, reject })
        wake()
      })
    },
    suspended: () => suspension?.message ?? null,
    start: async () => {
      if (!reserve.whole()) await probe()
    },
    async close() {
      closed = true
      if (probing !== null) clearInterval(probing)
      await running
    },
  }
}

const isUrgent = ({ urgent }: Pending): boolean => urgent
const isOrdinary = ({ urgent }: Pending): boolean => !urgent
function rejectAll(batch: readonly Pending[], error: unknown): void {
  for (const { reject } of batch) reject(error)
}

const isDiskFull = (error: unknown): boolean =>
  error instanceof GateError && error.code === 'disk_full'
