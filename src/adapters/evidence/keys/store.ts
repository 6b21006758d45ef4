import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import { GateError } from '../../../core/error.js'
import {
  closeSync,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from '../../disk/files.js'
import { removeFileSync, replaceFileSync } from '../../disk/replace-file.js'
import type { Seams } from '../seams.js'
import type { MasterKey } from './master-key.js'
import {
  KEY_ID_BYTES,
  readSlot,
  SLOT_BYTES,
  type Slot,
  tombstone,
  unwrap,
  writeSlot,
} from './slot.js'
import { createSlotTable } from './slot-table.js'

export type DataKey = { readonly id: Buffer; readonly key: Buffer }
/** The key of a record. */
export type RecordKey =
  | { readonly state: 'live'; readonly key: Buffer }
  | { readonly state: 'erased' }
  | { readonly state: 'damaged'; readonly detail: string }

export type KeyStore = ReturnType<typeof openKeyStore>
/** Writes all of it at that position, or nothing. */
export type PositionedWrite = (fd: number, bytes: Buffer, at: number) => void

const MAGIC = Buffer.from('capsule-gate/keys/1\n')
/** So many unwrapped keys are kept in memory. */
const CACHED = 1024
const SLOTS_PER_READ = 512
const syncData = promisify(fdatasync)

export function openKeyStore(file: string, master: MasterKey, seams: Seams) {
  const redo = `${file}.erasing`
  if (!existsSync(file)) replaceFileSync(file, headOf(master))
  const fd = openSync(file, 'r+')
  const findings: string[] = []
  const table = createSlotTable()
  const cache = new Map<string, DataKey>()
  let slots = 1
  let dirty = false

  if (existsSync(redo)) {
    // A crash interrupted an erasure: it was asked for, so it is completed.
    destroy(readFileSync(redo))
    removeFileSync(redo)
    findings.push(`${file}: an interrupted erasure was completed`)
  }
  load()

  function load(): void {
    const head = read(0)
    if (!head.equals(headOf(master))) {
      closeSync(fd)
      throw new GateError(
        'key_store',
        `${file} is damaged or belongs to another master key; restore the pair from one backup`,
      )
    }
    const size = fstatSync(fd).size
    let lastGood = 0
    const bad: number[] = []
    let several: Buffer = Buffer.alloc(0)
    for (let number = 1; number * SLOT_BYTES < size; number++) {
      const nth = (number - 1) % SLOTS_PER_READ
      if (nth === 0) several = read(number, SLOTS_PER_READ)
      const slot = slotIn(several, nth)
      if (slot.state === 'damaged' || slot.id.readUInt32BE(0) !== number) {
        bad.push(number)
        continue
      }
      lastGood = number
      if (slot.state === 'live') table.add(slot.tag, number)
    }
    slots = lastGood + 1
    for (const number of bad.filter((one) => one < slots)) {
      findings.push(`${file}: key ${number} is damaged; records under it cannot be read`)
    }
    // What was never synced may be torn; no record under it was acknowledged.
    if (size > slots * SLOT_BYTES) {
      ftruncateSync(fd, slots * SLOT_BYTES)
      findings.push(`${file}: ${size - slots * SLOT_BYTES} torn bytes at the end were cut`)
    }
    // A kill leaves slots that no sync confirmed; from here on records rely on them.
    fdatasyncSync(fd)
  }

  function read(number: number, count = 1): Buffer {
    const bytes = Buffer.alloc(SLOT_BYTES * count)
    const got = readSync(fd, bytes, 0, bytes.length, number * SLOT_BYTES)
    return bytes.subarray(0, got)
  }

  function destroy(id: Buffer): void {
    const number = id.readUInt32BE(0)
    seams.before_key_overwrite?.()
    writeSync(fd, tombstone(id), 0, SLOT_BYTES, number * SLOT_BYTES)
    fdatasyncSync(fd)
    seams.after_key_overwrite?.()
  }

  function find(scope: string): Extract<Slot, { state: 'live' }> | null {
    const tag = master.tag(scope)
    for (const number of table.candidates(tag)) {
      const slot = readSlot(read(number))
      if (slot.state === 'live' && slot.tag.equals(tag)) return slot
    }
    return null
  }

  function remember(scope: string, dataKey: DataKey): DataKey {
    const [oldest] = cache.keys()
    if (cache.size >= CACHED && oldest !== undefined) cache.delete(oldest)
    cache.set(scope, dataKey)
    return dataKey
  }

  return {
    findings,
    /** The scope's key, made if it has none. The slot is in the kernel; `sync` makes it durable. */
    forScope(scope: string, write: PositionedWrite): DataKey {
      const known = cache.get(scope)
      if (known !== undefined) return known
      const slot = find(scope)
      if (slot !== null) {
        const key = unwrap(slot.bytes, master)
        if (key === null) throw new GateError('key_store', `${file}: a key does not open`)
        return remember(scope, { id: Buffer.from(slot.id), key })
      }
      const key = randomBytes(32)
      const tag = master.tag(scope)
      const bytes = writeSlot(slots, tag, key, master)
      write(fd, bytes, slots * SLOT_BYTES)
      dirty = true
      table.add(tag, slots++)
      return remember(scope, { id: bytes.subarray(4, 4 + KEY_ID_BYTES), key })
    },
    /** The id of the scope's key, hex; null where it has none. */
    idOf: (scope: string): string | null => find(scope)?.id.toString('hex') ?? null,
    /** The slot as it is on disk; its key is not unwrapped. */
    slot: (number: number): Slot => readSlot(read(number)),
    byId: (id: Buffer): RecordKey => keyIn(readSlot(read(id.readUInt32BE(0))), id, file, master),
    /** Destroys the scope's key for good, durably; its slot's number, or null when there is none. */
    erase(scope: string): number | null {
      const slot = find(scope)
      if (slot === null) return null
      replaceFileSync(redo, slot.id)
      destroy(slot.id)
      cache.get(scope)?.key.fill(0)
      cache.delete(scope)
      removeFileSync(redo)
      return slot.id.readUInt32BE(0)
    },
    isDirty: (): boolean => dirty,
    async sync(): Promise<void> {
      dirty = false
      await syncData(fd)
    },
    close: () => closeSync(fd),
  }
}

/** The key with that id, from the slot that should hold it. */
function keyIn(slot: Slot, id: Buffer, file: string, master: MasterKey): RecordKey {
  if (slot.state === 'damaged' || !slot.id.equals(id)) {
    return { state: 'damaged', detail: `its key is not in ${file}` }
  }
  if (slot.state === 'erased') return { state: 'erased' }
  const key = unwrap(slot.bytes, master)
  if (key === null) return { state: 'damaged', detail: `its key in ${file} does not open` }
  return { state: 'live', key }
}

/** The keys as they are in the file at this moment, for a reader that writes nothing. */
export function readKeys(file: string, master: MasterKey): Pick<KeyStore, 'byId'> {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  if (bytes.length > 0 && !bytes.subarray(0, SLOT_BYTES).equals(headOf(master))) {
    throw new GateError('key_store', `${file} is damaged or belongs to another master key`)
  }
  return { byId: (id) => keyIn(slotIn(bytes, id.readUInt32BE(0)), id, file, master) }
}

const slotIn = (slots: Buffer, nth: number): Slot =>
  readSlot(slots.subarray(nth * SLOT_BYTES, (nth + 1) * SLOT_BYTES))

function headOf(master: MasterKey): Buffer {
  const head = Buffer.alloc(SLOT_BYTES)
  MAGIC.copy(head)
  master.check.copy(head, 32)
  head.writeUInt32BE(crc32(head.subarray(0, SLOT_BYTES - 4)), SLOT_BYTES - 4)
  return head
}
