import { join } from 'node:path'
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  writeSync,
} from '../disk/files.js'
import { makeFolder } from '../disk/folder.js'
import { replaceFileSync } from '../disk/replace-file.js'
import type { Report } from './model.js'
import { apply, dump, emptyState, MAX_DEAD, type OutboxRecord, type OutboxState } from './state.js'

/**
 * The state of the outbox, and its file: the state at some moment, then one record per line. Records are not synced
 * one by one: a crash that loses the end of the file puts the outbox back to an earlier moment, and the journal's
 * lines are read again from there, so an event may be sent twice but is never lost. A gap would lose one, so reading
 * ends at the first line that is not whole. Only from which line an endpoint is served is synced: without that record
 * the endpoint would begin at a later line.
 */
export type Store = ReturnType<typeof openStore>

const FILE = 'outbox.jsonl'
/** Rewritten when it is larger than this and at least half of it is history. */
const REWRITE_BYTES = 4 * 1024 * 1024

/** Reads the file without changing it; null where there is none. */
export function readOutbox(folder: string): OutboxState | null {
  const path = join(folder, FILE)
  if (!existsSync(path)) return null
  const lines = readFileSync(path, 'utf8').split('\n')
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

function parse(line: string): OutboxRecord | null {
  try {
    return JSON.parse(line) as OutboxRecord
  } catch {
    return null
  }
}

/** Begins the file anew with this state; from here on the records are applied to it. */
export function openStore(folder: string, state: OutboxState, report: Report) {
  makeFolder(folder)
  const path = join(folder, FILE)
  let startBytes = 0
  let size = 0
  /** A record is missing from the file: nothing may be written after the gap, so the file is rewritten. */
  let gap = true
  let fd = begin()

  function begin(): number {
    gap = true
    const bytes = Buffer.from(`${JSON.stringify(dump(state))}\n`)
    replaceFileSync(path, bytes)
    const opened = openSync(path, 'a', 0o600)
    startBytes = bytes.length
    size = bytes.length
    gap = false
    return opened
  }
  function rewrite(): void {
    const next = begin()
    closeSync(fd)
    fd = next
  }
  function append(record: OutboxRecord): void {
    if (gap || (size > REWRITE_BYTES && size > 2 * startBytes)) {
      rewrite()
      return
    }
    const bytes = Buffer.from(`${JSON.stringify(record)}\n`)
    gap = true
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    if (record.t === 'endpoint') fdatasyncSync(fd)
    size += bytes.length
    gap = false
  }
  function tryTo(write: () => void): void {
    try {
      write()
    } catch (error) {
      report({ kind: 'unwritten', why: String(error) })
    }
  }

  return {
    state: state as Readonly<OutboxState>,
    /** Applied even when the disk is full: the failure is reported, and a restart repeats what is not in the file. */
    write(record: OutboxRecord): void {
      const dropsOldest = record.t === 'dead' && state.dead.size === MAX_DEAD
      apply(state, record)
      tryTo(() => append(record))
      if (dropsOldest) report({ kind: 'forgotten', count: 1 })
    },
    /** Moves the cursor without a record, past a line that is no event. */
    skip(seq: number): void {
      state.cursor = seq
    },
    close(): void {
      tryTo(rewrite)
      closeSync(fd)
    },
  }
}
