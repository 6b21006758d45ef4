import { createHash } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decide, person, tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { refund, rig } from '../../support/rig.js'
import { cli } from '../support.js'

/** A data folder whose evidence was deleted, changed, darkened or erased, as an auditor's commands tell it. */
const MANIFEST = PAYMENTS.replace('    args:', '    capture: full\n    subject: order\n    args:')
const SLOT_BYTES = 128
type Finding = { state: string; seq: number | null; member: string | null; detail: string }
type Report = {
  type: string
  kind: string
  why?: string
  present: number
  erased: { seq: number; at: string; digests: number }[]
  findings: Finding[]
}

let home = ''
let action = ''
/** A digest of that action, the call that a person was asked about, and the digest of what they said. */
let judged = ''
let approval = ''
let voted = ''
let erasedBy = { seq: 0, at: '' }
/** Of the subject that was not erased. */
let keptKey = ''
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'gate-evidence-cli-'))
  const at = await rig({ manifest: MANIFEST }, join(home, 'whole'))
  const sent = await at.gate.govern(refund('5.00', {}, 'o-1'), tool().dispatch)
  if (sent.kind !== 'executed') throw new Error(sent.kind)
  action = sent.actionId
  // Two refusals with one reason, which stands under either subject's key.
  for (const order of ['o-1', 'o-2']) {
    await at.gate.govern(refund('900.00', {}, order), tool().dispatch)
  }
  const asked = await at.gate.govern(refund('150.00', {}, 'o-3'), tool().dispatch)
  if (asked.kind !== 'pending') throw new Error(asked.kind)
  await decide(at.gate, asked.actionId, person('dora'), { kind: 'approve' })
  approval = asked.actionId
  const vote = (await at.lines()).findLast(({ type }) => type === 'APPROVAL_VOTED')
  voted = String(vote?.evidence_digest)
  const [sealed] = await at.capsules()
  judged = String(sealed?.capsule.constraints?.[0]?.evidence_digest)
  await at.gate.close()
  // A second folder, in which one subject was erased by the gate itself.
  cpSync(join(home, 'whole'), join(home, 'erased'), { recursive: true })
  const other = await rig({ manifest: MANIFEST }, join(home, 'erased'))
  await other.gate.erase({ subject: 'o-1' }, 'olga')
  const line = (await other.lines()).findLast(({ type }) => type === 'EVIDENCE_ERASED')
  erasedBy = { seq: line?.seq ?? 0, at: line?.at ?? '' }
  keptKey = String(await other.gate.data.evidence.keyOf({ subject: 'o-2' }))
  await other.gate.close()
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** A copy of a folder with something done to its evidence. */
function folder(of: 'whole' | 'erased', change: (evidence: string) => void): string {
  const to = mkdtempSync(join(home, 'copy-'))
  cpSync(join(home, of), to, { recursive: true })
  change(join(to, 'data', 'evidence'))
  return to
}
async function verify(root: string, more: readonly string[] = []) {
  const args = ['ledger', 'verify', '--evidence', '--data', join(root, 'data')]
  const { code, out } = await cli([...args, '--head', join(root, 'head'), '--json', ...more])
  const reports = out
    .trim()
    .split('\n')
    .map((line): Report => JSON.parse(line))
  const report = reports.find(({ type }) => type === 'evidence')
  if (report === undefined) throw new Error(out)
  return { code, report }
}
const states = ({ findings }: Report): string[] => [...new Set(findings.map(({ state }) => state))]

const segment = (evidence: string): string => join(evidence, 'segments', '0000000001.seg')
function flip(file: string, at: (bytes: Buffer) => number): void {
  const bytes = readFileSync(file)
  const place = at(bytes)
  bytes.writeUInt8((bytes.at(place) ?? 0) ^ 1, place)
  writeFileSync(file, bytes)
}
function slot(evidence: string, number: number, change: (slot: Buffer) => void): void {
  const file = join(evidence, 'keys')
  const bytes = readFileSync(file)
  change(bytes.subarray(number * SLOT_BYTES, (number + 1) * SLOT_BYTES))
  writeFileSync(file, bytes)
}
/** As an erased slot looks; the checksum needs no key. */
function tombstone(bytes: Buffer): void {
  bytes[0] = 2
  bytes.fill(0, 20, SLOT_BYTES)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, SLOT_BYTES - 4)), SLOT_BYTES - 4)
}
const slots = (evidence: string): number =>
  readFileSync(join(evidence, 'keys')).length / SLOT_BYTES - 1

describe('ledger verify --evidence', () => {
  it('is 0 where every digest has a record that opens, and says how many', async () => {
    const { code, report } = await verify(join(home, 'whole'))
    expect([code, report.findings, report.erased]).toEqual([0, [], []])
    expect(report.present).toBeGreaterThan(10)
    const { out } = await cli([
      ...['ledger', 'verify', '--evidence', '--data', join(home, 'whole', 'data')],
      ...['--head', join(home, 'whole', 'head')],
    ])
    expect(out).toContain(`${report.present} digests present, 0 erased, 0 missing, 0 damaged`)
  })

  it('is 0 with what was erased, and names the line', async () => {
    const { code, report } = await verify(join(home, 'erased'))
    expect([code, report.findings]).toEqual([0, []])
    expect(report.erased).toEqual([{ ...erasedBy, digests: expect.any(Number) }])
  })

  it('is 1 and `missing` where a segment was deleted', async () => {
    const root = folder('whole', (evidence) => rmSync(segment(evidence)))
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['missing']])
    expect(report.findings[0]).toMatchObject({
      seq: expect.any(Number),
      member: expect.any(String),
    })
  })

  it('is 1 and `missing` where the whole store was deleted', async () => {
    const root = folder('whole', (evidence) => rmSync(evidence, { recursive: true }))
    const { code, report } = await verify(root)
    expect([code, states(report), report.present]).toEqual([1, ['missing'], 0])
  })

  it.each<[string, (bytes: Buffer) => number]>([
    ['the first', (bytes) => bytes.indexOf('CGE1', 4) - 30],
    ['the last', (bytes) => bytes.length - 30],
  ])('is 1 and `damaged` where one bit of %s record was flipped', async (_, at) => {
    const root = folder('whole', (evidence) => flip(segment(evidence), at))
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['damaged']])
  })

  it('is 1 where the head of a record was changed: its digests are missing, the octets damaged', async () => {
    const root = folder('whole', (evidence) => flip(segment(evidence), () => 40))
    const { code, report } = await verify(root)
    expect(code).toBe(1)
    expect(states(report).sort()).toEqual(['damaged', 'missing'])
  })

  it('is 1 and `damaged` where a key was overwritten', async () => {
    const root = folder('whole', (evidence) => slot(evidence, 1, (bytes) => bytes.fill(9)))
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['damaged']])
  })

  it('is 1 and `missing` where a key was destroyed and no line says so', async () => {
    const root = folder('whole', (evidence) => {
      for (let n = 1; n <= slots(evidence); n++) slot(evidence, n, tombstone)
    })
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['missing']])
    expect(report.findings[0]?.detail).toMatch(/no line says so/)
  })

  it('is 1 and `damaged` where one copy was erased and the other is damaged', async () => {
    const root = folder('erased', (evidence) => {
      for (let n = 1; n <= slots(evidence); n++) {
        slot(evidence, n, (bytes) => {
          if (bytes.subarray(4, 20).toString('hex') === keptKey) bytes.fill(9)
        })
      }
    })
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['damaged']])
    expect(report.findings.map(({ member }) => member)).toContain(
      'capsule.disposition.reason_digest',
    )
  })

  it('is 1 where another key was destroyed beside one that was erased', async () => {
    const root = folder('erased', (evidence) => {
      for (let n = 1; n <= slots(evidence); n++) slot(evidence, n, tombstone)
    })
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['missing']])
    expect(report.erased).toHaveLength(1)
  })

  it('is 1 where a record was given the key of an erased one', async () => {
    const root = folder('erased', (evidence) => {
      const file = segment(evidence)
      const bytes = readFileSync(file)
      const keyFile = readFileSync(join(evidence, 'keys'))
      let dark: Buffer | null = null
      for (let n = 1; n * SLOT_BYTES < keyFile.length; n++) {
        if (keyFile[n * SLOT_BYTES] === 2) {
          dark = keyFile.subarray(n * SLOT_BYTES + 4, n * SLOT_BYTES + 20)
        }
      }
      if (dark === null) throw new Error('nothing was erased')
      // The first record whose key is another one; its head's checksum is made anew.
      for (let at = 0; at >= 0; at = bytes.indexOf('CGE1', at + 4)) {
        const id = bytes.subarray(at + 12 + 32, at + 12 + 32 + 16)
        if (id.equals(dark)) continue
        dark.copy(id)
        const end = at + 12 + bytes.readUInt32BE(at + 4)
        bytes.writeUInt32BE(crc32(bytes.subarray(at, end)), end)
        break
      }
      writeFileSync(file, bytes)
    })
    const { code, report } = await verify(root)
    expect([code, states(report)]).toEqual([1, ['missing']])
    expect(report.findings[0]?.detail).toMatch(/records name the key that line \d+ erased/)
  })

  it('is 1 where the policies or a manifest that judged are gone or changed', async () => {
    const documents = (evidence: string): string => join(evidence, 'public')
    const gone = folder('whole', (evidence) => rmSync(documents(evidence), { recursive: true }))
    const { code, report } = await verify(gone)
    expect([code, states(report)]).toEqual([1, ['missing']])
    expect(new Set(report.findings.map(({ member }) => member))).toEqual(
      new Set(['policy_digest', 'manifest_digests']),
    )
    const changed = folder('whole', (evidence) => {
      for (const name of readdirSync(documents(evidence))) {
        flip(join(documents(evidence), name), () => 10)
      }
    })
    const told = await verify(changed)
    expect([told.code, states(told.report)]).toEqual([1, ['damaged']])
  })

  it('is 3 without the master key, or with another one', async () => {
    const none = await verify(join(home, 'whole'), ['--master-key', join(home, 'no-such-key')])
    expect([none.code, none.report.kind]).toEqual([3, 'cannot_tell'])
    const file = join(home, 'other.key')
    writeFileSync(file, `${'ab'.repeat(32)}\n`, { mode: 0o600 })
    const other = await verify(join(home, 'whole'), ['--master-key', file])
    expect([other.code, other.report.why]).toEqual([
      3,
      expect.stringContaining('another master key'),
    ])
  })

  it('changes nothing', async () => {
    const root = folder('whole', (evidence) => flip(segment(evidence), ({ length }) => length - 30))
    const contents = () =>
      readdirSync(join(root, 'data', 'evidence'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'latin1')])
    const before = contents()
    await verify(root)
    expect(contents()).toEqual(before)
  })
})

describe('evidence show', () => {
  const show = (root: string, id = action) =>
    cli(['evidence', 'show', id, '--data', join(root, 'data'), '--head', join(root, 'head')])
  const withoutSegment = (): string => folder('whole', (evidence) => rmSync(segment(evidence)))

  it('names the line that erased it', async () => {
    for (const id of [action, judged]) {
      const { code, err } = await show(
        folder('erased', () => undefined),
        id,
      )
      expect(code).not.toBe(0)
      expect(err).toContain(`is erased by line ${erasedBy.seq} of ${erasedBy.at}`)
    }
  })

  it('calls missing what lines need and the store does not have', async () => {
    const root = withoutSegment()
    for (const id of [action, judged, approval, voted]) {
      const { code, err } = await show(root, id)
      expect([code === 0, err]).toEqual([false, expect.stringContaining('is missing')])
      expect(err).not.toContain('none of its lines needs any')
    }
  })

  it('calls missing what a person said, beside what is there of the call', async () => {
    const root = folder('whole', (evidence) => {
      const bytes = readFileSync(segment(evidence))
      writeFileSync(segment(evidence), bytes.subarray(0, bytes.lastIndexOf('CGE1')))
    })
    const { code, out } = await show(root, approval)
    expect([code, out]).toEqual([0, expect.stringContaining(`missing  evidence_digest  ${voted}`)])
    expect(out).toContain('approval document')
  })

  it('does not say of a digest that no record has that nothing needs it', async () => {
    const { code, err } = await show(join(home, 'whole'), 'f'.repeat(64))
    expect([code === 0, err]).toEqual([
      false,
      expect.stringContaining('No record has this digest. Where a line names it'),
    ])
  })

  it('calls missing what is dark without a line', async () => {
    const root = folder('whole', (evidence) => {
      for (let n = 1; n <= slots(evidence); n++) slot(evidence, n, tombstone)
    })
    const { code, err } = await show(root)
    expect([code === 0, err]).toEqual([false, expect.stringContaining('is missing')])
  })

  it('calls damaged what was changed', async () => {
    const root = folder('whole', (evidence) => {
      slot(evidence, 1, (bytes) => bytes.fill(9))
      slot(evidence, 2, (bytes) => bytes.fill(9))
    })
    const { code, err } = await show(root)
    expect([code === 0, err]).toEqual([false, expect.stringContaining('damaged')])
  })

  it('says that none is due where no line needs any', async () => {
    const args = ['evidence', 'show', '019ca97e-7920-7c4b-a2c7-b84de097ac4b']
    const root = join(home, 'whole')
    const { err } = await cli([...args, '--data', join(root, 'data'), '--head', join(root, 'head')])
    expect(err).toContain('none of its lines needs any')
  })
})

describe('ledger verify', () => {
  it('is 3 where a slot of the second head cannot be read or is somebody else’s', async () => {
    const run = (root: string) =>
      cli(['ledger', 'verify', '--data', join(root, 'data'), '--head', join(root, 'head')])
    expect((await run(join(home, 'whole'))).code).toBe(0)
    const broken = folder('whole', () => undefined)
    flip(join(broken, 'head'), () => 20)
    const told = await run(broken)
    expect([told.code, told.out]).toEqual([3, expect.stringContaining('cannot be read')])
    const foreign = folder('whole', () => undefined)
    const bytes = readFileSync(join(foreign, 'head'))
    const text = bytes
      .toString('latin1', 0, bytes.indexOf('} ') + 1)
      .replace('"lines":', '"lines":1')
    const sum = createHash('sha256').update(text).digest('hex')
    bytes.write(`${`${text} ${sum}`.padEnd(1023)}\n`, 0, 'latin1')
    writeFileSync(join(foreign, 'head'), bytes)
    const other = await run(foreign)
    expect([other.code, other.out]).toEqual([
      3,
      expect.stringContaining('not written by this gate'),
    ])
  })
})
