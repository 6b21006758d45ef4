import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { JournalReport } from '../../src/adapters/journal/model.js'
import { writeSnapshotFile } from '../../src/adapters/journal/start/snapshot.js'
import { openSigner } from '../../src/adapters/keys/signer.js'
import { systemClock } from '../../src/app/clock.js'
import { type Data, openData } from '../../src/app/data/open.js'
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
import type { JournalLine } from '../../src/ports/journal.js'
import type { Signer } from '../../src/ports/signer.js'
import { eventKeys } from '../adapters/journal/harness.js'
import { cli } from '../cli/support.js'
import { membersOf as wholeMembers } from '../support/lines.js'
import { PAYMENTS } from '../support/manifests.js'
import { POLICIES, type Rig, refund, rig, sending, upstreamTo } from '../support/rig.js'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')

/**
 * Anyone who can write to the file can compute hash links. A line that no signed head covers is not obeyed: it is
 * kept aside and told, whatever signature it carries itself.
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
/** Correctly linked to the last line, as anyone with write access can do it; returns what was appended. */
function append(type: string, json: string): string {
  const file = journalFile()
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const text = lines.at(-1) as string
  const last = JSON.parse(text) as JournalLine
  const prev = createHash('sha256').update(`\0${text}`).digest('hex')
  const { origin, at: time } = last
  const next = formatLine({ origin, seq: last.seq + 1, prev, at: time, type }, json)
  writeFileSync(file, `${next}\n`, { flag: 'a' })
  return `${next}\n`
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

const entryBy = (type: 'HALT' | 'RESUME', origin: string) => {
  const signer = openSigner(join(data, 'keys'))
  return signEvent({
    origin,
    type,
    members: { scope: { kind: 'all' }, actor: 'a'.repeat(64), evidence_digest: 'b'.repeat(64) },
    kid: signer.kid('event'),
    sign: (message) => signer.sign('event', message),
  })
}
const resumeEntry = (origin: string) => entryBy('RESUME', origin)
const haltEntry = (origin: string) => entryBy('HALT', origin)

/** Journal, second head and snapshot, byte by byte. */
const onDisk = (): Record<string, string> => {
  const files = readdirSync(join(data, 'journal')).map((name) => join(data, 'journal', name))
  const kept = [...files, join(at.dir, 'head')].filter(
    (file) => existsSync(file) && !/epoch|reserve|lock/.test(file),
  )
  return Object.fromEntries(kept.map((file) => [file, readFileSync(file, 'latin1')]))
}
/** Opens, and expects that what was put behind the last head was not obeyed, kept aside and told. */
async function passedOver(appended: string, before: Record<string, string>): Promise<void> {
  const file = journalFile()
  const told: JournalReport[] = []
  const opened = await open((event) => told.push(event))
  expect(opened.state.halts()).toEqual([{ kind: 'all' }])
  expect(await opened.state.standingGrants(Date.now())).toEqual([])
  expect(await opened.state.pins()).toEqual([])
  expect(opened.state.config()?.mode).toBe('enforce')
  await opened.close()
  const torn = told.find((event) => event.kind === 'torn_tail')
  expect(torn).toMatchObject({ file, bytes: Buffer.byteLength(appended) })
  expect(readFileSync(torn?.kind === 'torn_tail' ? torn.kept : '', 'utf8')).toBe(appended)
  expect(readFileSync(file, 'latin1')).toBe(before[file])
}
const FORGERIES: readonly (readonly [string, (type: SignedType) => string])[] = [
  ['without a signature', (type) => JSON.stringify(membersOf(type))],
  ['signed by another key', (type) => signedBy(eventKeys().signer, 'event', type)],
  [
    'signed by the key of another purpose',
    (type) => signedBy(openSigner(join(data, 'keys')), 'statement', type),
  ],
  [
    'changed after it was signed',
    (type) => {
      const signed = JSON.parse(signedBy(openSigner(join(data, 'keys')), 'event', type)) as object
      return JSON.stringify({ ...signed, by: 'somebody else', nth: 7 })
    },
  ],
  [
    'signed as the gate signs, but covered by no head',
    (type) => signedBy(openSigner(join(data, 'keys')), 'event', type),
  ],
]

describe.each(ALL)('a %s line appended to a stopped journal', (type) => {
  it.each(FORGERIES)('%s is not obeyed, kept aside and told', async (_, forge) => {
    const before = onDisk()
    await passedOver(append(type, forge(type)), before)
  })
})

describe('types that no signature of their own protects', () => {
  it.each(['ACTION_DISPATCHED', 'CAPSULE', 'REPLAYED', 'APPROVAL_JOINED', 'NOTE'])(
    'an invented %s is not obeyed either: no capsule comes of it',
    async (type) => {
      const members = type === 'NOTE' ? {} : wholeMembers(type as LineType, {})
      const before = onDisk()
      await passedOver(append(type, JSON.stringify(members)), before)
    },
  )
})

describe('a genuine line copied to the end', () => {
  it('and linked there is not obeyed', async () => {
    const lines = readFileSync(journalFile(), 'utf8').trimEnd().split('\n')
    const resumed = await open()
    await resumed.journal.append([resumeEntry(resumed.journal.origin)])
    await resumed.journal.append([haltEntry(resumed.journal.origin)])
    await resumed.close()
    const {
      v,
      origin: o,
      seq,
      prev,
      at: time,
      type,
      ...members
    } = JSON.parse(
      readFileSync(journalFile(), 'utf8').split('\n')[lines.length] as string,
    ) as JournalLine
    expect(type).toBe('RESUME')
    const before = onDisk()
    await passedOver(append('RESUME', JSON.stringify(members)), before)
  })
})

describe('a forged line with half a line behind it', () => {
  it('is cut together with it', async () => {
    const before = onDisk()
    const line = append('RESUME', JSON.stringify(membersOf('RESUME')))
    writeFileSync(journalFile(), '{"v":2,"orig', { flag: 'a' })
    await passedOver(`${line}{"v":2,"orig`, before)
  })
})

describe('what was signed by the gate itself', () => {
  it('is obeyed after a restart, also under a retired event key', async () => {
    const first = await open()
    await first.journal.append([resumeEntry(first.journal.origin)])
    await first.close()
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
    const before = onDisk()
    await passedOver(append('NOTE', '{"type":"RESUME","scope":{"kind":"all"}}'), before)
  })

  it('cannot use another line’s signature either', async () => {
    const before = onDisk()
    const json = signedBy(openSigner(join(data, 'keys')), 'event', 'RESUME')
    await passedOver(append('HALT', `{"type":"RESUME",${json.slice(1)}`), before)
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
  it('a forged line after it is not obeyed', async () => {
    const opened = await open()
    await opened.journal.writeSnapshot(opened.state.dump())
    await opened.close()
    const before = onDisk()
    await passedOver(append('RESUME', JSON.stringify(membersOf('RESUME'))), before)
  })

  it('a signed snapshot of a head that the lines do not reach refuses the start and changes nothing', async () => {
    append('RESUME', JSON.stringify(membersOf('RESUME')))
    const seq = 1_000
    const never = { seq, hash: 'f'.repeat(64) }
    const signer = openSigner(join(data, 'keys'))
    await writeSnapshotFile(join(data, 'journal'), origin(), signer, never, {})
    const before = onDisk()
    await expect(open()).rejects.toThrow(/older than the signed snapshot/)
    expect(onDisk()).toEqual(before)
  })
})

describe('the table of signed types', () => {
  it.each(SIGNED_TYPES)('%s cannot be appended unsigned', (type) => {
    const own = type === 'HEAD' || type === 'SEGMENT_SEALED'
    const unsigned = own ? /the journal itself writes/ : /lines of this type are signed/
    expect(entryFault(type, '{"by":"me"}')).toMatch(unsigned)
    const signed = entryFault(type, '{"by":"me","kid":"00","sig":"AA"}')
    if (own) expect(signed).toMatch(unsigned)
    else expect(signed).toBeNull()
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
    'starts without a forged %s, and says so',
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
      append(type, JSON.stringify(membersOf(type)))
      const args = ['serve', '--config', join(home, 'gate.yaml'), '--data', data]
      const child = spawn(process.execPath, [MAIN, ...args, '--port', '0', '--admin-port', '0'])
      let said = ''
      const started = new Promise<void>((resolve) => {
        const hear = (text: Buffer): void => {
          said += text.toString()
          if (said.includes('agents connect to')) resolve()
        }
        child.stderr.on('data', hear)
        child.stdout.on('data', hear)
        child.on('exit', () => resolve())
      })
      const ended = once(child, 'exit')
      await started
      child.kill('SIGTERM')
      await ended
      expect(said).toContain('agents connect to')
      expect(said).toContain('journal_torn_tail')
      expect(readFileSync(journalFile(), 'utf8')).not.toContain('mallory')
      const opened = await open()
      expect(opened.state.halts()).toEqual([{ kind: 'all' }])
      expect(await opened.state.standingGrants(Date.now())).toEqual([])
      await opened.close()
    },
  )
})
