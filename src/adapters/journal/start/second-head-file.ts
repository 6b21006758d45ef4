import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { isHex64 } from '../../../core/bytes/hex.js'
import { GateError } from '../../../core/error.js'
import type { SignedHead } from '../../../core/journal/head.js'
import type { Head } from '../../../ports/journal.js'
import { ifThere, messageOf } from '../../disk/errno.js'
import { type FileHandle, open } from '../../disk/files.js'
import { syncFolder } from '../../disk/folder.js'
import { withFile } from '../../disk/with-file.js'

/**
 * The newest head in a second place, so that a journal restored from an older copy is noticed. Two
 * fixed slots written in turn, each with its own checksum: a torn write loses one head, never both,
 * and writing in place took 2 µs where temp file and rename took 290 µs (both measured as blocking
 * calls; here the write goes through the thread pool, since the second place may be a slow one). Not
 * synced per head: after a power cut it may be behind the journal, which is harmless.
 */
const SLOT = 1024
/** Before version 2: {origin, seq, hash} without a signature. */
const SLOT_OF_VERSION_1 = 512

/** A head as the file has it: its checksum holds, its signature is the reader's to check. */
export type KeptHead = Head & {
  readonly origin: string
  /** All its members; null for one of version 1, which nothing signed. */
  readonly signed: object | null
}

const checksum = (text: string): string => createHash('sha256').update(text).digest('hex')

function encode(head: SignedHead): Buffer {
  const text = JSON.stringify(head)
  return Buffer.from(`${`${text} ${checksum(text)}`.padEnd(SLOT - 1)}\n`)
}

function decode(slot: string): KeptHead | null {
  const match = /^(\{.*\}) ([0-9a-f]{64}) *\n$/.exec(slot)
  if (match === null || checksum(match[1] as string) !== match[2]) return null
  const head = JSON.parse(match[1] as string)
  const { origin, upto, seq, hash } = head
  if (typeof origin !== 'string' || !isHex64(hash)) return null
  if (Number.isSafeInteger(upto)) return { origin, seq: upto, hash, signed: head }
  return Number.isSafeInteger(seq) ? { origin, seq, hash, signed: null } : null
}

export type KeptHeads = {
  readonly newest: KeptHead
  /** What the slot that is written next still holds. */
  readonly older: KeptHead | null
  /** What is in the file beside them and no writer put there; null where nothing is. */
  readonly damage: string | null
}

/**
 * Null when there is no file yet. A file without one good slot is damage, not a first start, unless the journal has
 * no line: a power loss before the first head was synced may leave anything.
 */
export async function readHeadFile(path: string, hasLines = true): Promise<KeptHeads | null> {
  const read = await ifThere(withFile(path, 'r', readSlots))
  if (read === null || read.text === '') return null
  const { text, slots, newer } = read
  const newest = slots[newer]
  const older = slots[1 - newer] ?? null
  if (newest === null) {
    if (!hasLines) return null
    throw new GateError(
      'head_file',
      'the second head cannot be read: check the journal against a copy of yours, then delete this file',
      {
        file: path,
        expected: 'a head with its checksum',
        found: JSON.stringify(text.slice(0, 80)),
      },
    )
  }
  return { newest, older, damage: damageOf(text, newest, older) }
}

/** Two whole slots. A power loss may tear one; anything else that is not a head there is a change of the file. */
function damageOf(text: string, newest: KeptHead, older: KeptHead | null): string | null {
  if (newest.signed === null) return null
  if (text.length !== 2 * SLOT) return 'it is not two slots long'
  return older === null ? 'one of its two slots cannot be read' : null
}

export async function openHeadWriter(path: string, failed: (why: string) => void) {
  await withFile(path, 'a', async () => {})
  // A second head that must be there after a power loss needs its name on the disk as well.
  syncFolder(dirname(path))
  const handle = await open(path, 'r+')
  let next: SignedHead | null = null
  let writing: Promise<void> | null = null
  const found = await readSlots(handle)
  // What stands behind the slots was reported at this start, and would be at each.
  if (found.text.length > 2 * SLOT) await handle.truncate(2 * SLOT)
  let isNew = found.slots.every((head) => head === null)
  let slot = 1 - found.newer
  const write = (head: SignedHead, to: number) => handle.write(encode(head), 0, SLOT, to * SLOT)
  const drain = async (): Promise<void> => {
    while (next !== null) {
      const head: SignedHead = next
      next = null
      try {
        // Both slots of a new file: an empty one would look like one that was wiped.
        if (isNew) await write(head, 1 - slot)
        isNew = false
        await write(head, slot)
        slot = 1 - slot
      } catch (error) {
        failed(messageOf(error))
      }
    }
    writing = null
  }
  /** All that was pushed is written and synced, or was reported as failed. */
  const settled = async (): Promise<void> => {
    await writing
    await handle.datasync()
  }
  return {
    /** Returns at once; of heads that come while one is being written only the newest is. */
    push(head: SignedHead): void {
      next = head
      writing ??= drain()
    },
    settled,
    async close(): Promise<void> {
      try {
        await settled()
      } finally {
        await handle.close()
      }
    },
  }
}

/** `newer` is the slot with the newest head: the other one is written next. */
async function readSlots(handle: FileHandle) {
  // One more than there should be, so that it shows.
  const buffer = Buffer.alloc(2 * SLOT + 1)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0)
  const text = buffer.toString('latin1', 0, bytesRead)
  const first = decode(text.slice(0, SLOT)) ?? decode(text.slice(0, SLOT_OF_VERSION_1))
  const second =
    decode(text.slice(SLOT, 2 * SLOT)) ??
    decode(text.slice(SLOT_OF_VERSION_1, 2 * SLOT_OF_VERSION_1))
  const newer = second !== null && second.seq > (first?.seq ?? -1) ? 1 : 0
  return { text, slots: [first, second], newer } as const
}
