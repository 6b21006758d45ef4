import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  DriverEntry,
  JournalOptions,
  JournalReport,
  OpenedJournal,
} from '../../../src/adapters/journal/model.js'
import { openJournal } from '../../../src/adapters/journal/open.js'
import type { PublicKeyRecord } from '../../../src/core/statement/keys.js'
import type { JournalLine } from '../../../src/ports/journal.js'
import type { Signer } from '../../../src/ports/signer.js'

export type Keys = {
  readonly signer: Signer
  readonly records: readonly PublicKeyRecord[]
  /** For another process. */
  readonly privatePem: string
}

export function eventKeys(purpose: PublicKeyRecord['purpose'] = 'event'): Keys {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  const kid = createHash('sha256').update(raw).digest()
  return {
    privatePem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    signer: { kid: () => kid, sign: (_, message) => sign(null, message, privateKey) },
    records: [
      {
        kid: kid.toString('hex'),
        alg: -8,
        public_key: raw.toString('hex'),
        purpose,
        status: 'active',
      },
    ],
  }
}

export const KEYS = eventKeys()

/** The first of these keys, for a check that shares nothing with the product. */
export const publicKeyOf = ([key]: readonly PublicKeyRecord[]): KeyObject =>
  createPublicKey({
    key: Buffer.concat([SPKI_ED25519, Buffer.from(key?.public_key ?? '', 'hex')]),
    format: 'der',
    type: 'spki',
  })
/** RFC 8410: what stands before the 32 octets of the key. */
const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex')

/** A folder of its own per test, with the second head beside the journal, not in it. */
export type Place = {
  readonly root: string
  readonly dir: string
  readonly headFile: string
  readonly reports: JournalReport[]
  open(changes?: Partial<JournalOptions>): Promise<OpenedJournal>
  /** Closes what is still open and removes the folder. */
  clean(): Promise<void>
}

export async function makePlace(parent = tmpdir()): Promise<Place> {
  const root = await mkdtemp(join(parent, 'journal-'))
  const opened: OpenedJournal[] = []
  const reports: JournalReport[] = []
  const dir = join(root, 'journal')
  const headFile = join(root, 'head')
  return {
    root,
    dir,
    headFile,
    reports,
    async open(changes = {}) {
      const journal = await openJournal({
        dir,
        headFile,
        origin: 'gate-1',
        signer: KEYS.signer,
        keys: KEYS.records,
        clock: { now: () => Date.now() },
        reserveBytes: 64 * 1024,
        report: (report) => reports.push(report),
        ...changes,
      })
      opened.push(journal)
      return journal
    },
    async clean() {
      for (const journal of opened) await journal.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

export const note = (n: number, pad = 0): DriverEntry => ({
  type: 'NOTE',
  json: JSON.stringify({ n, pad: 'x'.repeat(pad) }),
})

export async function allLines(journal: OpenedJournal, from?: number): Promise<JournalLine[]> {
  const lines: JournalLine[] = []
  for await (const line of journal.lines(from)) lines.push(line)
  return lines
}

/** The journal's lines as text, straight from the files: an auditor with `cat`. */
export async function rawLines(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => name.endsWith('.jsonl')).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')))
  const text = texts.join('')
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end')
  return text.split('\n').slice(0, -1)
}

/**
 * The chain by the words of DESIGN §5 alone, sharing nothing with the product: seq from 1, prev =
 * SHA-256(0x00 ‖ previous line), 64 zeros first, time never back. Throws at the first fault.
 */
export function checkChain(lines: readonly string[], origin = 'gate-1'): void {
  let prev = '0'.repeat(64)
  let at = ''
  lines.forEach((text, i) => {
    const line = JSON.parse(text)
    const names = Object.keys(line).slice(0, 6).join()
    if (names !== 'v,origin,seq,prev,at,type') throw new Error(`line ${i + 1}: envelope ${names}`)
    if (line.v !== 2 || line.origin !== origin) throw new Error(`line ${i + 1}: v or origin`)
    if (line.seq !== i + 1) throw new Error(`line ${i + 1}: seq ${line.seq}`)
    if (line.prev !== prev) throw new Error(`line ${i + 1}: prev`)
    if (line.at < at || new Date(line.at).toISOString() !== line.at)
      throw new Error(`line ${i + 1}: at`)
    at = line.at
    prev = createHash('sha256')
      .update(Buffer.from([0]))
      .update(text)
      .digest('hex')
  })
}

/** JCS, for what heads and seals hold: plain names, whole numbers, ASCII text. */
const sorted = (value: object): string =>
  JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )

/**
 * Heads and seals by the words of DESIGN §5 alone: each ends a batch, its signature holds over its members, its
 * envelope and spelling follow from them, and what it counts is there. The last line is one.
 */
export function checkHeads(lines: readonly string[], records = KEYS.records): void {
  const key = publicKeyOf(records)
  let [count, capsules, segment] = [0, 0, 1]
  let since: string[] = []
  let byType: { [type: string]: number } = {}
  let last = ''
  lines.forEach((text, i) => {
    const { v, seq, prev, at, kid, sig, ...signed } = JSON.parse(text)
    const { type, origin } = signed
    const fault = (what: string): Error => new Error(`line ${i + 1}, a ${type}: ${what}`)
    const isHead = type === 'HEAD' || type === 'SEGMENT_SEALED'
    if (isHead) {
      const message = Buffer.from(`capsule-gate/event/v1\n${sorted(signed)}`)
      if (!verify(null, message, key, Buffer.from(sig, 'base64url'))) throw fault('signature')
      const { upto, hash, time, size, root, counts } = signed
      if (upto !== i || seq !== i + 1 || hash !== prev || time !== at) throw fault('envelope')
      if (signed.lines !== count || signed.capsules !== capsules) throw fault('counts')
      const head = { upto, hash, time, lines: count, capsules }
      const members = type === 'HEAD' ? head : { segment, size, root, ...head, counts }
      const line = { v: 2, origin, seq, prev, at, type, ...members, kid, sig }
      if (JSON.stringify(line) !== text) throw fault('spelling')
      // A seal closes a segment whose batches have their heads; any other head has a batch of its own.
      if (i === 0 || (last === 'HEAD') !== (type === 'SEGMENT_SEALED')) throw fault('its batch')
    } else {
      count++
      if (type === 'CAPSULE') capsules++
    }
    if (type === 'SEGMENT_SEALED') {
      if (signed.size !== since.length || signed.root !== merkleRoot(since)) throw fault('root')
      if (JSON.stringify(signed.counts) !== sorted(byType)) throw fault('counts by type')
      segment++
      since = []
      byType = {}
    } else {
      since.push(text)
      byType[type] = (byType[type] ?? 0) + 1
    }
    last = type
  })
  if (lines.length > 0 && last !== 'HEAD' && last !== 'SEGMENT_SEALED') {
    throw new Error(`the last line is a ${last}`)
  }
}

/** RFC 6962 §2.1 by its recursive definition. */
export function merkleRoot(lines: readonly string[]): string {
  const sha = (...parts: (Buffer | string)[]): Buffer => {
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest()
  }
  const root = (leaves: readonly string[]): Buffer => {
    if (leaves.length === 0) return sha()
    if (leaves.length === 1) return sha(Buffer.from([0]), leaves[0] as string)
    let split = 1
    while (split * 2 < leaves.length) split *= 2
    return sha(Buffer.from([1]), root(leaves.slice(0, split)), root(leaves.slice(split)))
  }
  return root(lines).toString('hex')
}
