import { dirname, join } from 'node:path'
import { isHex64 } from '../../core/bytes/hex.js'
import { GateError } from '../../core/error.js'
import { namesDigest } from '../../core/evidence/record-names.js'
import type { ErasureScope, Evidence, EvidenceRecord } from '../../ports/evidence.js'
import { nodeCrypto } from '../crypto-node.js'
import { existsSync, mkdirSync, readdirSync, unlinkSync } from '../disk/files.js'
import { syncFolder } from '../disk/folder.js'
import { type Lock, lockFolder } from '../disk/lock.js'
import { TEMPORARY } from '../disk/replace-file.js'
import { openReserve } from '../disk/reserve.js'
import { deriveMasterKey } from './keys/master-key.js'
import { openKeyStore } from './keys/store.js'
import { publicFiles } from './public-files.js'
import { countUnder, findByAction, findByDigest, namesUnder } from './read/find.js'
import { createIndexLookup } from './read/in-index.js'
import type { Seams } from './seams.js'
import { segmentFiles } from './segment/files.js'
import { encryptFrame, type Head } from './segment/frame.js'
import { encodeRecord, sha256 } from './segment/record.js'
import { openWriter } from './writer.js'

export type EvidenceOptions = {
  readonly dir: string
  /** 32 secret bytes, kept apart from `dir`: with both, everything can be read. */
  readonly masterKey: Uint8Array
  readonly segmentBytes?: number
  readonly reserveBytes?: number
  readonly seams?: Seams
  /**
   * Resolves when a group's sync may begin, after its first record: records written by then share it.
   * Default: at the end of this turn of the event loop.
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

/** Evidence as in DESIGN §5: private, encrypted, erasable by key, indexed by digest and by action. */
export async function openEvidence(options: EvidenceOptions): Promise<OpenedEvidence> {
  const { dir } = options
  for (const name of ['segments', 'public']) {
    mkdirSync(join(dir, name), { recursive: true, mode: 0o700 })
  }
  // A folder is durable when its parent was synced, and so is a file that a killed process had just made.
  for (const folder of [dirname(dir), dir, join(dir, 'segments'), join(dir, 'public')]) {
    syncFolder(folder)
  }
  const lock = await lockFolder(dir, 'evidence')
  try {
    return opened(options, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

function opened(options: EvidenceOptions, lock: Lock): OpenedEvidence {
  const { dir, seams = {}, gather = endOfTurn } = options
  const { segmentBytes = SEGMENT_BYTES, reserveBytes = RESERVE_BYTES } = options
  const segmentFolder = join(dir, 'segments')
  const publicFolder = join(dir, 'public')
  for (const folder of [dir, segmentFolder, publicFolder]) dropTemporaries(folder)
  const findings = new Set<string>()
  const files = segmentFiles(segmentFolder, seams, (finding) => findings.add(finding))
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
  const keys = openKeyStore(keyFile, deriveMasterKey(options.masterKey), seams)
  for (const finding of keys.findings) findings.add(finding)
  const reserve = openReserve(dir, reserveBytes, reserveBytes)
  const writer = openWriter({ files, segmentBytes, keys, reserve, seams, gather })
  const published = publicFiles(publicFolder)
  const store = { files, keys, segments: writer.segments }
  const inIndex = createIndexLookup(store)

  function put(record: EvidenceRecord, urgent: boolean): Promise<void> {
    mustBeOpen()
    writer.mayWrite(urgent)
    const plain = encodeRecord(record)
    const { id, key } = keys.forScope(scopeOf(record), writer.writeKey(urgent))
    const head: Head = {
      action: sha256(record.actionId),
      keyId: id,
      digests: record.parts.map(({ digest }) => Buffer.from(digest, 'hex')),
    }
    return writer.append(encryptFrame(head, key, plain), head, urgent)
  }

  let closing: Promise<void> | null = null
  async function close(): Promise<void> {
    await writer.close()
    keys.close()
    await reserve.close()
    await lock.release()
  }
  /** The number of a closed descriptor may be another file's by now. */
  function mustBeOpen(): void {
    if (closing !== null) throw new GateError('closed', 'the evidence store is closed')
  }
  const whileOpen =
    <A, T>(run: (given: A) => T | Promise<T>) =>
    async (given: A): Promise<T> => {
      mustBeOpen()
      return run(given)
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
    byAction: whileOpen((actionId) => findByAction(store, actionId)),
    byDigest: whileOpen((digest) =>
      isHex64(digest) ? findByDigest(store, digest) : { state: 'missing' },
    ),
    inIndex: whileOpen(inIndex),
    putPublic: published.put,
    getPublic: published.get,
    keyOf: whileOpen((scope) => keys.idOf(erasedScope(scope))),
    namesUnder: whileOpen(async (key) => {
      await writer.drained()
      const slot = Buffer.from(key, 'hex').readUInt32BE(0)
      return namesDigest(await namesUnder(store, slot), nodeCrypto)
    }),
    erase: whileOpen(async (scope) => {
      const slot = keys.erase(erasedScope(scope))
      if (slot === null) return 0
      // Records that are just being written cannot be read any more either, and are counted.
      await writer.drained()
      return countUnder(store, slot)
    }),
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

/** Left by a stop between two steps; never in force. */
function dropTemporaries(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name.endsWith(TEMPORARY)) unlinkSync(join(folder, name))
  }
}
