import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createKeys } from '../../../src/adapters/keys/create.js'
import { systemClock } from '../../../src/app/clock.js'
import { openWriterThread } from '../../../src/app/writer-thread/open.js'
import { fromFault, toFault } from '../../../src/app/writer-thread/protocol.js'
import { openStores, type Stores } from '../../../src/app/writer-thread/stores.js'
import { GateError } from '../../../src/core/error.js'
import type { Dispatch } from '../../../src/ports/dispatch.js'
import type { EvidencePart } from '../../../src/ports/evidence.js'
import { bytesPart, evidenceContract, jsonPart, recordOf } from '../../contract/evidence.js'
import { journalContract } from '../../contract/journal.js'
import { PAYMENTS } from '../../support/manifests.js'
import { refund, rig } from '../../support/rig.js'

const dist = (path: string): string => new URL(`../../../dist/${path}`, import.meta.url).href
const dyingAt = (file: string): string =>
  `${new URL('../../support/die-seams.mjs', import.meta.url).href}?file=${encodeURIComponent(file)}`

/** The recording thread keeps the promises of both ports, and its end is a refusal, never a silence. */
type Place = Parameters<typeof openWriterThread>[0]

async function makePlace(segmentBytes = 64 * 1024 * 1024): Promise<Place & { dir: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'recorder-'))
  const keysDir = join(dir, 'keys')
  await createKeys(keysDir)
  mkdirSync(join(dir, 'second'))
  return {
    dir,
    journalDir: join(dir, 'journal'),
    evidenceDir: join(dir, 'evidence'),
    keysDir,
    origin: 'gate-test',
    masterKey: new Uint8Array(32).fill(7),
    headFile: join(dir, 'second', 'head'),
    acceptMissingHead: false,
    segmentBytes,
  }
}
const open = (
  place: Place,
  { clock = systemClock, seams = null as string | null } = {},
): Promise<Stores> => openWriterThread(place, clock, () => {}, seams)
const shut = async ({ journal, evidence }: Stores): Promise<void> => {
  await journal.close()
  await evidence.close()
}

for (const [name, segmentBytes] of [
  ['the recording thread', 64 * 1024 * 1024],
  ['the recording thread with tiny segments', 300],
] as const) {
  journalContract(name, async () => {
    const place = await makePlace(segmentBytes)
    let record: Stores | null = null
    return {
      open: async () => {
        record = await open(place)
        const { journal, evidence } = record
        // Who closes the journal here closes all of it, as a gate does.
        return {
          ...journal,
          async close() {
            await journal.close()
            await evidence.close()
          },
        }
      },
      clean: async () => {
        if (record !== null) await shut(record)
        rmSync(place.dir, { recursive: true })
      },
    }
  })
}

evidenceContract('the recording thread', async () => {
  const place = await makePlace()
  let record = await open(place)
  return {
    evidence: record.evidence,
    async reopen() {
      await shut(record)
      record = await open(place)
      return record.evidence
    },
    async dispose() {
      await shut(record)
      rmSync(place.dir, { recursive: true })
    },
  }
})

describe('the recording thread', () => {
  let place: Place & { dir: string }
  let opened: Stores[]
  beforeEach(async () => {
    place = await makePlace()
    opened = []
  })
  afterEach(async () => {
    for (const each of opened) await shut(each).catch(() => undefined)
    rmSync(place.dir, { recursive: true })
  })
  const start = async (...args: Parameters<typeof open>): Promise<Stores> => {
    const record = await open(...args)
    opened.push(record)
    return record
  }

  it('leaves what the stores in one thread read, and reads what they left', async () => {
    const first = await start(place)
    await first.evidence.put(recordOf('a-1', [jsonPart({ n: 1 })]))
    await first.journal.append([{ type: 'NOTE', json: '{"n":1}' }])
    await first.journal.writeSnapshot({ folded: true })
    await shut(first)
    const second = await openStores(place, systemClock, () => {})
    expect(second.journal.snapshot?.state).toEqual({ folded: true })
    expect((await second.evidence.byAction('a-1')).state).toBe('present')
    await second.journal.append([{ type: 'NOTE', json: '{"n":2}' }])
    await shut(second)
    const third = await start(place)
    const lines = []
    for await (const line of third.journal.lines()) lines.push(line)
    expect(lines.map(({ type, n }) => n ?? type)).toEqual([1, 'HEAD', 2, 'HEAD'])
    expect(third.journal.head().seq).toBe(4)
    expect((await third.journal.verified).damage).toBeNull()
  })

  it('hands evidence to the disk before the line appended after it', async () => {
    const record = await start(place)
    const names = (folder: string): string =>
      readdirSync(folder)
        .filter((name) => name.includes('0'))
        .map((name) => readFileSync(join(folder, name), 'latin1'))
        .join('')
    await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const digest = createHash('sha256').update(`a-${n}`).digest().toString('latin1')
        const put = record.evidence.put(recordOf(`a-${n}`, [jsonPart({ n })]))
        await record.journal.append([{ type: 'NOTE', json: `{"n":${n}}` }])
        expect(names(join(place.evidenceDir, 'segments'))).toContain(digest)
        await put
      }),
    )
  })

  it('tells of lines in their order, whatever else is asked meanwhile and whichever store is slower', async () => {
    const { journal, evidence } = await start(place)
    const told: number[] = []
    const asked: Promise<unknown>[] = []
    const append = (n: number): void => {
      const appended = journal.append([{ type: 'NOTE', json: `{"n":${n}}` }])
      asked.push(appended.then(([line]) => told.push(line?.seq ?? 0)))
      // A request pushes out what is waiting: several batches are on their way at once.
      asked.push(journal.find(`a-${n}`))
    }
    for (let n = 0; n < 400; n += 2) {
      // A batch that has to wait for both stores, and one behind it that waits for one.
      asked.push(evidence.put(recordOf(`a-${n}`, [jsonPart({ n })])))
      append(n)
      append(n + 1)
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(asked)
    expect(told).toHaveLength(400)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
  })

  it('never stamps a line before the time its writer was given, also when the clock goes back', async () => {
    let now = Date.parse('2026-05-01T10:00:00.000Z')
    const record = await start(place, { clock: { now: () => now, monotonic: () => 0 } })
    const before = record.journal.timestamp()
    now -= 3_600_000
    const [line] = await record.journal.append([{ type: 'NOTE', json: '{}' }])
    expect(line?.at).toBe(before)
    expect(record.journal.timestamp()).toBe(before)
  })

  it('keeps octets that are a view into a larger buffer, and leaves that buffer alone', async () => {
    const record = await start(place)
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.nat(50),
        async (b, at) => {
          const slab = Buffer.alloc(1024, 0x2e)
          slab.set(b, at)
          const view = slab.subarray(at, at + b.length)
          const id = `v-${at}-${createHash('sha256').update(b).digest('hex')}`
          const part = bytesPart(view)
          await record.evidence.put(recordOf(id, [part]))
          expect(Buffer.compare(view, b)).toBe(0)
          const found = await record.evidence.byDigest(part.digest)
          expect(found.state === 'present' && Buffer.compare(found.value.bytes ?? slab, b)).toBe(0)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('refuses what is no plain value to whoever gave it, and goes on for the others', async () => {
    const { journal, evidence } = await start(place)
    const odd = {
      digest: '0'.repeat(64),
      kind: 'reason',
      value: () => 1,
    } as unknown as EvidencePart
    await expect(evidence.put(recordOf('odd', [odd]))).rejects.toThrow(/could not be cloned/)
    await expect(journal.append([{ type: 'NOTE', json: '{}' }])).resolves.toHaveLength(1)
  })

  it('keeps a process alive for whoever waits, and for nobody else', () => {
    const text = `
      const { openWriterThread } = await import(${JSON.stringify(dist('app/writer-thread/open.js'))})
      const place = { ...${JSON.stringify(place)}, masterKey: new Uint8Array(32) }
      const { journal } = await openWriterThread(place, Date, () => {}, null)
      const [{ seq }] = await journal.append([{ type: 'NOTE', json: '{}' }])
      process.stdout.write(String(seq))`
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
      timeout: 30_000,
    })
    expect([run.status, run.stdout.toString(), run.stderr.toString()]).toEqual([0, '1', ''])
  })

  it('refuses a folder another thread holds, by the name of the error, and leaves its own lock free', async () => {
    const first = await start(place)
    await expect(open(place)).rejects.toBeInstanceOf(GateError)
    await expect(open(place)).rejects.toMatchObject({ code: 'locked' })
    const elsewhere = await makePlace()
    await expect(open({ ...elsewhere, journalDir: place.journalDir })).rejects.toMatchObject({
      name: 'GateError',
      code: 'locked',
    })
    await shut(await open(elsewhere))
    rmSync(elsewhere.dir, { recursive: true })
    await shut(first)
    await shut(await open(place))
  })

  it('that ends unasked leaves nobody waiting, and says why from then on', async () => {
    const now = join(place.dir, 'now')
    const { journal, evidence } = await start(place, { seams: dyingAt(now) })
    expect(journal.health().ok).toBe(true)
    writeFileSync(now, '')
    const lost = { code: 'poisoned', message: expect.stringContaining('the thread dies') }
    await expect(journal.append([{ type: 'NOTE', json: '{}' }])).rejects.toMatchObject(lost)
    expect(journal.health()).toEqual({ ok: false, reason: lost.message })
    expect(evidence.health().ok).toBe(false)
    await expect(evidence.put(recordOf('late', [jsonPart({ n: 1 })]))).rejects.toMatchObject(lost)
    // Its locks went with it: a restart needs no help.
    await start(place)
    expect(journal.health()).toEqual({ ok: false, reason: lost.message })
  })

  it('that ends under a gate: nothing is sent from then on, and callers are told', async () => {
    const now = join(place.dir, 'now')
    const at = await rig({ manifest: PAYMENTS, recorder: { in: 'thread', seams: dyingAt(now) } })
    const received: string[] = []
    const send: Dispatch = async ({ actionId }) => {
      received.push(actionId)
      return { observation: { kind: 'sent', cause: 'cut', deadline: false }, held: null }
    }
    expect((await at.gate.govern(refund('5.00'), send)).kind).toBe('refused')
    expect(received).toHaveLength(1)
    writeFileSync(now, '')
    for (let again = 0; again < 3; again++) {
      expect(await at.gate.govern(refund('5.00'), send)).toMatchObject({
        kind: 'unrecorded',
        code: 'record_unavailable',
      })
    }
    expect(received).toHaveLength(1)
    await at.gate.close().catch(() => undefined)
    const after = await rig({ manifest: PAYMENTS }, at.dir)
    expect(await after.capsules()).toHaveLength(1)
    await after.close()
  })
})

describe('an error between threads', () => {
  it('arrives as what it was', () => {
    const errors = [
      new GateError('disk_full', 'the disk is full', { file: 'x', line: 3 }),
      new GateError('digest_mismatch', 'not that'),
      new TypeError('odd'),
    ]
    for (const error of errors) {
      const arrived = fromFault(structuredClone(toFault(error)))
      expect(arrived.name).toBe(error.name)
      expect(arrived.message).toBe(error.message)
    }
    const [journal] = errors
    expect(fromFault(toFault(journal))).toMatchObject({
      code: 'disk_full',
      file: 'x',
      line: 3,
    })
    expect(fromFault(toFault('text')).message).toBe('text')
  })
})
