import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { JournalError } from '../../src/adapters/journal/error.js'
import type { JournalReport } from '../../src/adapters/journal/model.js'
import { writeSnapshotFile } from '../../src/adapters/journal/snapshot.js'
import { openSigner } from '../../src/adapters/keys/signer.js'
import { systemClock } from '../../src/config/clock.js'
import { type Data, openData } from '../../src/config/data.js'
import { signEvent } from '../../src/core/journal/event.js'
import { entryFault, formatLine } from '../../src/core/journal/line.js'
import {
  isSignedType,
  LINES,
  type LineType,
  type MembersOf,
  type SignedType,
} from '../../src/core/journal/vocabulary.js'
import type { Plain } from '../../src/core/json/value.js'
import type { JournalLine, Signer } from '../../src/ports.js'
import { eventKeys } from '../adapters/journal/harness.js'
import { cli } from '../cli/support.js'
import { membersOf as wholeMembers } from '../support/lines.js'
import { PAYMENTS } from '../support/manifests.js'
import { POLICIES, type Rig, refund, rig, sending, upstreamTo } from '../support/rig.js'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')

/**
 * Whoever can write to the file can compute hash links. A line of a signed type that this gate's event
 * key did not sign must stop the start, and leave every byte where it was.
 */
const SIGNED_TYPES = (Object.keys(LINES) as LineType[]).filter(isSignedType)
const ALL = SIGNED_TYPES.filter((type) => type !== 'SEGMENT_SEALED')
/** Members that the fold would obey, so that a missing check would be seen as obedience. */
const MEMBERS: { readonly [type in SignedType]?: { readonly [name: string]: Plain } } = {
  HALT: { scope: { kind: 'all' }, by: 'mallory' },
  RESUME: { scope: { kind: 'all' }, by: 'mallory' },
  GRANT_ISSUED: {
    grant: 'g-forged',
    agent: 'support-bot',
    expires_at: '2999-01-01T00:00:00.000Z',
    uses: 1000,
    standing: true,
    tool: 'create_refund',
    bounds: {},
  },
  GRANT_REVOKED: { grant: 'g-1' },
  CONFIG_CHANGED: { policy_digest: '0'.repeat(64), manifest_digests: [], mode: 'observe' },
}
/** Whole, so that nothing but the missing signature can refuse the line. */
function membersOf(type: SignedType): MembersOf<SignedType> {
  const { kid, sig, ...members } = wholeMembers(type, MEMBERS[type] ?? {})
  return members as MembersOf<SignedType>
}

let at: Rig
let data: string
beforeEach(async () => {
  at = await rig({ manifest: PAYMENTS, snapshotEvery: 1_000_000 })
  data = join(at.dir, 'data')
  await at.gate.halt({ kind: 'all' }, 'operator')
  await at.gate.close()
})
afterEach(() => rmSync(at.dir, { recursive: true, force: true }))

const open = (report: (event: JournalReport) => void = () => undefined): Promise<Data> =>
  openData({
    dir: data,
    headFile: join(at.dir, 'head'),
    segmentBytes: 64 * 1024 * 1024,
    snapshotEvery: 1_000_000,
    idempotencyTtlSeconds: 60,
    clock: systemClock,
    report,
    recorder: { in: 'this_thread' },
  })

const journalFile = (): string => {
  const names = readdirSync(join(data, 'journal')).filter((name) => name.endsWith('.jsonl'))
  return join(data, 'journal', names.sort().at(-1) as string)
}
/** Correctly linked to the last line, as anyone with write access can do it. */
function append(type: string, json: string): { readonly seq: number; readonly line: number } {
  const file = journalFile()
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const text = lines.at(-1) as string
  const last = JSON.parse(text) as JournalLine
  const prev = createHash('sha256').update(`\0${text}`).digest('hex')
  const { origin, at: time } = last
  const next = formatLine({ origin, seq: last.seq + 1, prev, at: time, type }, json)
  writeFileSync(file, `${next}\n`, { flag: 'a' })
  return { seq: last.seq + 1, line: lines.length + 1 }
}
const origin = (): string =>
  (JSON.parse(readFileSync(journalFile(), 'utf8').split('\n')[0] as string) as JournalLine).origin
const signedBy = (signer: Signer, purpose: 'event' | 'statement', type: SignedType): string =>
  signEvent({
    origin: origin(),
    type,
    members: membersOf(type),
    kid: signer.kid(purpose),
    sign: (message) => signer.sign(purpose, message),
  }).json

/** Journal, second head and snapshot, byte by byte. */
const onDisk = (): Record<string, string> => {
  const files = readdirSync(join(data, 'journal')).map((name) => join(data, 'journal', name))
  const kept = [...files, join(at.dir, 'head')].filter(
    (file) => existsSync(file) && !/epoch|reserve|lock/.test(file),
  )
  return Object.fromEntries(kept.map((file) => [file, readFileSync(file, 'latin1')]))
}
async function refusal(): Promise<JournalError> {
  const before = onDisk()
  const error = await open().then(
    async (opened) => {
      await opened.close()
      return null
    },
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(JournalError)
  expect(onDisk()).toEqual(before)
  return error as JournalError
}

const FORGERIES: readonly (readonly [string, (type: SignedType) => string, string])[] = [
  ['without a signature', (type) => JSON.stringify(membersOf(type)), 'unsigned'],
  ['signed by another key', (type) => signedBy(eventKeys().signer, 'event', type), 'kid_unknown'],
  [
    'signed by the key of another purpose',
    (type) => signedBy(openSigner(join(data, 'keys')), 'statement', type),
    'key_purpose',
  ],
  [
    'changed after it was signed',
    (type) => {
      const signed = JSON.parse(signedBy(openSigner(join(data, 'keys')), 'event', type)) as object
      return JSON.stringify({ ...signed, by: 'somebody else', nth: 7 })
    },
    'signature_invalid',
  ],
]

describe.each(ALL)('a %s line appended to a stopped journal', (type) => {
  it.each(FORGERIES)('%s refuses the start and changes nothing', async (_, forge, code) => {
    const { seq, line } = append(type, forge(type))
    const error = await refusal()
    expect(error.message).toContain(`line ${seq} is a ${type} that this gate did not sign`)
    expect(error.message).toContain(code)
    expect(error.place).toMatchObject({ file: journalFile(), line })
  })
})

describe('a forged line with half a line behind it', () => {
  it('refuses the start before the half line is cut', async () => {
    append('RESUME', JSON.stringify(membersOf('RESUME')))
    writeFileSync(journalFile(), '{"v":1,"orig', { flag: 'a' })
    expect((await refusal()).message).toMatch(/RESUME that this gate did not sign/)
  })
})

describe('what was signed by the gate itself', () => {
  it('is obeyed after a restart, also under a retired event key', async () => {
    append('RESUME', signedBy(openSigner(join(data, 'keys')), 'event', 'RESUME'))
    expect(
      (await cli(['keys', 'rotate', '--purpose', 'event', '--dir', join(data, 'keys')])).code,
    ).toBe(0)
    const opened = await open()
    expect(opened.state.halts()).toEqual([])
    await opened.close()
  })
})

describe('a line that says its type twice', () => {
  it('is not obeyed by its second type', async () => {
    append('NOTE', '{"type":"RESUME","scope":{"kind":"all"}}')
    await expect(open()).rejects.toThrow(/the envelope is contradicted/)
  })

  it('cannot use another line’s signature either', async () => {
    const json = signedBy(openSigner(join(data, 'keys')), 'event', 'RESUME')
    append('HALT', `{"type":"RESUME",${json.slice(1)}`)
    await expect(open()).rejects.toThrow(/HALT that this gate did not sign/)
  })
})

describe('a snapshot that this version cannot read', () => {
  it('is told and passed over: the lines say the same', async () => {
    const opened = await open()
    const { seq, hash } = opened.journal.head()
    const state = JSON.parse(JSON.stringify(opened.state.dump())) as object
    await opened.close()
    const signer = openSigner(join(data, 'keys'))
    const later = { ...state, halts: 'as a later version keeps them' }
    await writeSnapshotFile(join(data, 'journal'), origin(), signer, { seq, hash }, later)
    const told: string[] = []
    const again = await open((event) => told.push(JSON.stringify(event)))
    expect(told).toEqual([JSON.stringify({ kind: 'snapshot_ignored', why: 'halts is not a list' })])
    expect(again.state.dump()).toEqual(state)
    expect(again.state.halts()).toEqual([{ kind: 'all' }])
    await again.close()
  })
})

describe('with a snapshot', () => {
  it('a forged line after it refuses the start', async () => {
    const opened = await open()
    await opened.journal.writeSnapshot(opened.state.dump())
    await opened.close()
    append('RESUME', JSON.stringify(membersOf('RESUME')))
    expect((await refusal()).message).toMatch(/RESUME that this gate did not sign \(unsigned\)/)
  })

  it('a snapshot that does not stand leaves no line unchecked', async () => {
    const { seq } = append('RESUME', JSON.stringify(membersOf('RESUME')))
    append('NOTE', '{}')
    // Signed by the gate, later than the forged line, but naming a head that this journal never had.
    const never = { seq: seq + 1, hash: 'f'.repeat(64) }
    const signer = openSigner(join(data, 'keys'))
    await writeSnapshotFile(join(data, 'journal'), origin(), signer, never, {})
    expect((await refusal()).message).toMatch(/RESUME that this gate did not sign \(unsigned\)/)
  })
})

describe('the table of signed types', () => {
  it.each(SIGNED_TYPES)('%s cannot be appended unsigned', (type) => {
    expect(entryFault(type, '{"by":"me"}')).toMatch(/lines of this type are signed/)
    expect(entryFault(type, '{"by":"me","kid":"00","sig":"AA"}')).toBeNull()
  })

  it('holds every signed type that a working gate writes, and no type that it writes unsigned', async () => {
    const gate = await rig({ manifest: PAYMENTS })
    const call = refund('250.00')
    await gate.gate.govern(call, sending(upstreamTo('http://127.0.0.1:9'), call))
    await gate.gate.halt({ kind: 'agent', name: 'x' }, 'operator')
    await gate.gate.resume({ kind: 'agent', name: 'x' }, 'operator')
    for (const line of await gate.lines()) {
      const isSigned = line.sig !== undefined
      expect([line.type, isSigned]).toEqual([
        line.type,
        (SIGNED_TYPES as readonly string[]).includes(line.type),
      ])
    }
    await gate.close()
  })
})

describe('a served gate', () => {
  it.each(['RESUME', 'GRANT_ISSUED', 'CONFIG_CHANGED'] as const)(
    'does not start on a forged %s, and says which line',
    async (type) => {
      const home = join(at.dir, 'home')
      mkdirSync(join(home, 'manifests'), { recursive: true })
      mkdirSync(join(home, 'policies'))
      writeFileSync(join(home, 'manifests', 'payments.yaml'), PAYMENTS)
      writeFileSync(join(home, 'policies', 'payments.cedar'), POLICIES)
      writeFileSync(
        join(home, 'gate.yaml'),
        'upstream: http://127.0.0.1:9\nagents: {support-bot: {token_sha256: ' +
          `"${'0'.repeat(64)}"}}\njournal: {head_file: ${join(at.dir, 'head')}}\n`,
      )
      const { seq } = append(type, JSON.stringify(membersOf(type)))
      const before = onDisk()
      const args = ['serve', '--config', join(home, 'gate.yaml'), '--data', data]
      const { status, stderr } = spawnSync(
        process.execPath,
        [MAIN, ...args, '--port', '0', '--admin-port', '0'],
        // One that starts all the same is ended: then there is no exit status.
        { encoding: 'utf8', timeout: 20_000 },
      )
      expect(status).toBeGreaterThan(0)
      expect(stderr).toContain(`line ${seq} is a ${type} that this gate did not sign`)
      expect(onDisk()).toEqual(before)
    },
  )
})
