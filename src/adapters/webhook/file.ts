import { dirname, join } from 'node:path'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from '../disk/files.js'
import { makeFolder } from '../disk/folder.js'
import { apply, dump, emptyState, type OutboxRecord, type OutboxState } from './state.js'

/**
 * The outbox on disk: the state at some moment, then one record per line. It is not synced line by
 * line, because it need not be: a crash that takes the end of the file puts the outbox back to an
 * earlier moment, and from there the journal's lines are read again. That costs a repetition, never
 * an event. What must not happen is a hole, so reading ends at the first line that is not whole. Only what
 * says from where an endpoint is served is synced: without it the endpoint would begin at a later line.
 */
export type OutboxFile = {
  /** Applied whatever happens; throws when they could not be written, and then writes all of it next time. */
  append(records: readonly OutboxRecord[]): void
  close(): void
}

const FILE = 'outbox.jsonl'
/** Rewritten when it is so large, and at least half of it is history. */
const REWRITE_BYTES = 4 * 1024 * 1024

export const outboxExists = (folder: string): boolean => existsSync(join(folder, FILE))

/** What the file says, read without touching it; null where there is none. */
export function readOutbox(folder: string): OutboxState | null {
  if (!outboxExists(folder)) return null
  const lines = readFileSync(join(folder, FILE), 'utf8').split('\n')
  // Without an end of line the last one was cut off.
  lines.pop()
  const state = emptyState(0, { approvals: new Map(), judges: null })
  let first = true
  for (const line of lines) {
    const record = parse(line)
    if (record === null || first !== (record.t === 'state')) break
    apply(state, record)
    first = false
  }
  return first ? null : state
}

/** Begins the file anew with this state; from here on the records are applied to it. */
export function openOutbox(folder: string, state: OutboxState): OutboxFile {
  makeFolder(folder)
  const path = join(folder, FILE)
  let file = rewrite(path, state)
  let { size } = file
  /** A record is missing: nothing may be written behind the gap. */
  let gap = false

  function renew(): void {
    const next = rewrite(path, state)
    closeSync(file.fd)
    file = next
    size = file.size
    gap = false
  }

  return {
    append(records) {
      for (const record of records) apply(state, record)
      if (gap || (size > REWRITE_BYTES && size > 2 * file.size)) {
        renew()
        return
      }
      const bytes = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at)
        size += bytes.length
        if (records.some(({ t }) => t === 'endpoint')) fsyncSync(file.fd)
      } catch (error) {
        gap = true
        throw error
      }
    },
    close() {
      try {
        renew()
      } finally {
        closeSync(file.fd)
      }
    },
  }
}

/** All of the new file or all of the old one. */
function rewrite(path: string, state: OutboxState): { fd: number; size: number } {
  const bytes = Buffer.from(`${JSON.stringify(dump(state))}\n`)
  const temporary = `${path}.tmp`
  const fd = openSync(temporary, 'w', 0o600)
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    fsyncSync(fd)
    renameSync(temporary, path)
    const folder = openSync(dirname(path), 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } catch (error) {
    closeSync(fd)
    throw error
  }
  return { fd, size: bytes.length }
}

function parse(line: string): OutboxRecord | null {
  try {
    return JSON.parse(line) as OutboxRecord
  } catch {
    return null
  }
}
