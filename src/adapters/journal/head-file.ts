import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { isHex64 } from '../../core/hex.js'
import type { Head } from '../../ports.js'
import { errnoOf, JournalError, messageOf } from './error.js'

/**
 * The newest head in a second place, so that a journal restored from an older copy is noticed. Two
 * fixed slots written in turn, each with its own checksum: a torn write loses one head, never both,
 * and writing in place took 2 µs where temp file and rename took 290 µs (both measured as blocking
 * calls; here the write goes through the thread pool, since the second place may be a slow one). Not
 * synced per head: after a power cut it may be behind the journal, which is harmless.
 */
const SLOT = 512

export type SecondHead = Head & { readonly origin: string }

const checksum = (text: string): string => createHash('sha256').update(text).digest('hex')

function encode(head: SecondHead): Buffer {
  const text = JSON.stringify({ origin: head.origin, seq: head.seq, hash: head.hash })
  return Buffer.from(`${`${text} ${checksum(text)}`.padEnd(SLOT - 1)}\n`)
}

function decode(slot: string): SecondHead | null {
  const match = /^(\{.*\}) ([0-9a-f]{64}) *\n$/.exec(slot)
  if (match === null || checksum(match[1] as string) !== match[2]) return null
  const { origin, seq, hash } = JSON.parse(match[1] as string)
  return typeof origin === 'string' && Number.isSafeInteger(seq) && isHex64(hash)
    ? { origin, seq, hash }
    : null
}

/** Null when there is no file yet. A file without one good slot is damage, not a first start. */
export async function readHeadFile(path: string): Promise<SecondHead | null> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
  const { text, slots, newer } = await readSlots(handle).finally(() => handle.close())
  if (text === '') return null
  const newest = slots[newer]
  if (newest === null) {
    throw new JournalError(
      'head_file',
      'the second head cannot be read: check the journal against a copy of yours, then delete this file',
      {
        file: path,
        expected: 'a head with its checksum',
        found: JSON.stringify(text.slice(0, 80)),
      },
    )
  }
  return newest
}

export type HeadWriter = {
  /** Returns at once; of heads that come while one is being written only the newest is. */
  push(head: Head): void
  /** The last head is written and synced. */
  close(): Promise<void>
}

export async function openHeadWriter(
  path: string,
  origin: string,
  failed: (why: string) => void,
): Promise<HeadWriter> {
  await (await open(path, 'a', 0o600)).close()
  const handle = await open(path, 'r+')
  let next: Head | null = null
  let writing: Promise<void> | null = null
  let slot = 1 - (await readSlots(handle)).newer
  const drain = async (): Promise<void> => {
    while (next !== null) {
      const head: Head = next
      next = null
      try {
        await handle.write(encode({ ...head, origin }), 0, SLOT, slot * SLOT)
        slot = 1 - slot
      } catch (error) {
        failed(messageOf(error))
      }
    }
    writing = null
  }
  return {
    push(head) {
      next = head
      writing ??= drain()
    },
    async close() {
      await writing
      try {
        await handle.datasync()
      } finally {
        await handle.close()
      }
    },
  }
}

type Slots = {
  readonly text: string
  readonly slots: readonly [SecondHead | null, SecondHead | null]
  /** The slot with the newest head: the other one is written next. */
  readonly newer: 0 | 1
}

async function readSlots(handle: FileHandle): Promise<Slots> {
  const buffer = Buffer.alloc(2 * SLOT)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
  const text = buffer.toString('latin1', 0, bytesRead)
  const first = decode(text.slice(0, SLOT))
  const second = decode(text.slice(SLOT))
  const newer = (second?.seq ?? 0) > (first?.seq ?? 0) ? 1 : 0
  return { text, slots: [first, second], newer }
}
