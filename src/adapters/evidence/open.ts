import { dirname, join } from 'node:path'
import { isHex64 } from '../../core/bytes/hex.js'
import { GateError } from '../../core/error.js'
import { namesDigest } from '../../core/evidence/names.js'
import type { ErasureScope, Evidence, EvidenceRecord } from '../../ports/evidence.js'
import { nodeCrypto } from '../crypto-node.js'
import { existsSync, mkdirSync, readdirSync, unlinkSync } from '../disk/files.js'
import { syncFolder } from '../disk/folder.js'
import { type Lock, lockFolder } from '../disk/lock.js'
import { TEMPORARY } from '../disk/replace-file.js'
import { type Head, sealFrame } from './frame.js'
import { openKeyStore } from './key-store.js'
import { createLook } from './look.js'
import { countUnder, findByAction, findByDigest, namesUnder, type Shelf } from './lookup.js'
import { deriveMasterKey } from './master-key.js'
import { publicFiles } from './public-files.js'
import { encodeRecord, sha256 } from './record.js'
import { openReserve } from './reserve.js'
import type { Seams } from './seams.js'
import { segmentFiles } from './segment-files.js'
import { openWriter } from './writer.js'

export type EvidenceOptions = {
  readonly dir: string
  /** 32 secret bytes, kept apart from `dir`: whoever has both reads everything. */
  readonly masterKey: Uint8Array
  readonly segmentBytes?: number
  readonly reserveBytes?: number
  readonly seams?: Seams
  /**
   * When a group's sync begins, after its first record: whoever has written by then shares it.
   * Default: at the end of this turn of the loop.
   */
  readonly gather?: () => Promise<void>
}
export type OpenedEvidence = Evidence & {
  /** What was found damaged, torn or interrupted, and what was done about it, since the start. */
  findings(): readonly string[]
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const SEGMENT_BYTES = 16 * 1024 * 1024
const RESERVE_BYTES = 1024 * 1024
const DAY = /^\d{4}-\d{2}-\d{2}(?=T)/

/** Evidence as DESIGN §5 has it: private, sealed, erasable by key, indexed by digest and by action. */
export async function openEvidence(options: EvidenceOptions): Promise<OpenedEvidence> {
  const { dir, seams = {} } = options
  const folders = { segments: join(dir, 'segments'), public: join(dir, 'public') }
  for (const folder of [dir, ...Object.values(folders)]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
  // A folder is durable when the one it stands in was synced, and so is a file that a killed process had just made.
  for (const folder of [dirname(dir), dir, ...Object.values(folders)]) syncFolder(folder)
  const lock = await lockFolder(dir, 'evidence')
  try {
    return opened(options, seams, folders, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

function opened(
  options: EvidenceOptions,
  seams: Seams,
  folders: { readonly segments: string; readonly public: string },
  lock: Lock,
): OpenedEvidence {
  const { dir, segmentBytes = SEGMENT_BYTES, reserveBytes = RESERVE_BYTES } = options
  const gather = options.gather ?? endOfTurn
  for (const folder of [dir, ...Object.values(folders)]) dropTemporaries(folder)
  const findings = new Set<string>()
  const files = segmentFiles(folders.segments, seams, (finding) => findings.add(finding))
  const numbers = files.numbers()
  const keyFile = join(dir, 'keys')
  if (numbers.length > 0 && !existsSync(keyFile)) {
    throw new GateError(
      'key_store',
      `${keyFile} is missing, and records are sealed under its keys; restore it from a backup`,
    )
  }
  const there = new Set(numbers)
  for (let number = 1; number < (numbers.at(-1) ?? 0); number++) {
    if (!there.has(number)) findings.add(`${files.path(number)} is missing`)
  }
  const master = deriveMasterKey(options.masterKey)
  const keys = openKeyStore(keyFile, master, seams)
  for (const finding of keys.findings) findings.add(finding)
  const reserve = openReserve(join(dir, 'reserve'), reserveBytes)
  const writer = openWriter({ files, segmentBytes, keys, reserve, seams, gather })
  const published = publicFiles(folders.public)
  const shelf: Shelf = { files, keys, segments: writer.segments }
  const look = createLook(shelf)

  function put(record: EvidenceRecord, urgent: boolean): Promise<void> {
    writer.mayWrite(urgent)
    const plain = encodeRecord(record)
    const { id, key } = keys.forScope(scopeOf(record), writer.writeKey(urgent))
    const head: Head = {
      action: sha256(record.actionId),
      keyId: id,
      digests: record.parts.map(({ digest }) => Buffer.from(digest, 'hex')),
    }
    return writer.append(sealFrame(head, key, plain), head, urgent)
  }

  let closing: Promise<void> | null = null
  async function close(): Promise<void> {
    await writer.close()
    keys.close()
    await lock.release()
  }
  /** A closed descriptor's number may be another file's by now. */
  function mustBeOpen(): void {
    if (closing !== null) throw new GateError('closed', 'the evidence store is closed')
  }

  return {
    put(record, { urgent = false } = {}) {
      // No await before the write: the bytes are with the kernel when the promise is returned.
      try {
        return put(record, urgent)
      } catch (error) {
        return Promise.reject(error)
      }
    },
    async byAction(actionId) {
      mustBeOpen()
      return findByAction(shelf, actionId)
    },
    async byDigest(digest) {
      mustBeOpen()
      return isHex64(digest) ? findByDigest(shelf, digest) : { state: 'missing' }
    },
    async inIndex(digests) {
      mustBeOpen()
      return look(digests)
    },
    putPublic: published.put,
    getPublic: published.get,
    async keyOf(scope) {
      mustBeOpen()
      return keys.idOf(erasedScope(scope))
    },
    async namesUnder(key) {
      mustBeOpen()
      await writer.drained()
      const slot = Buffer.from(key, 'hex').readUInt32BE(0)
      return namesDigest(await namesUnder(shelf, slot), nodeCrypto)
    },
    async erase(scope) {
      mustBeOpen()
      const slot = keys.erase(erasedScope(scope))
      if (slot === null) return 0
      // Records on their way to the disk went dark too, and are counted.
      await writer.drained()
      return countUnder(shelf, slot)
    },
    health: writer.health,
    findings: () => [...findings],
    close: () => (closing ??= close()),
  }
}

const subjectScope = (subject: string): string => JSON.stringify(['subject', subject])
const erasedScope = (scope: ErasureScope): string =>
  'subject' in scope ? subjectScope(scope.subject) : dayScope(scope.operator, scope.day)
const dayScope = (operator: string, day: string): string => JSON.stringify(['day', operator, day])

function scopeOf({ subject, operator, at }: EvidenceRecord): string {
  if (subject !== null) return subjectScope(subject)
  const day = DAY.exec(at)?.[0]
  if (day === undefined) throw new TypeError(`"${at}" is not an RFC 3339 time`)
  return dayScope(operator, day)
}

/** What a stop between two steps left behind; none of it was ever in force. */
function dropTemporaries(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.endsWith(TEMPORARY)) unlinkSync(join(folder, name))
  }
}
