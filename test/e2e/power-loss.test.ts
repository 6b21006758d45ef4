import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, it } from '@jest/globals'
import { openEvidence } from '../../src/adapters/evidence/open.js'
import { sample } from '../support/draws.js'
import { missingStrace, needs } from '../support/needs.js'
import { writeImage } from '../support/power-loss/inodes.js'
import { type Moment, momentsOf } from '../support/power-loss/run.js'
import { POLICIES, rig } from '../support/rig.js'

/**
 * Power loss, as no kill shows it: what the kernel has and the disk has not is gone. A gate is watched by
 * strace, and each time it sends a call or answers one, a folder is made of what was synced by then, a
 * gate is started on it, and asked for the record of everything sent or answered so far.
 */
const { describe: watched } = needs(missingStrace())
const DIST = pathToFileURL(join(import.meta.dirname, '..', '..', 'dist')).href
const CHILD = join(import.meta.dirname, '..', 'support', 'torture-child.mjs')
/** Three rounds of so many at once. */
const CALLS = 20
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
`
const folders: string[] = []
afterAll(() => {
  for (const dir of folders) rmSync(dir, { recursive: true, force: true })
})
function newFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'gate-power-'))
  folders.push(dir)
  return dir
}

watched('when the power goes', () => {
  it('everything sent or answered by then is on record, with its evidence', async () => {
    const root = newFolder()
    mkdirSync(join(root, 'policies'))
    writeFileSync(join(root, 'policies', 'payments.cedar'), POLICIES)
    const moments = momentsOf(root, [CHILD, root, 'none', '1', String(CALLS), 's'])
    expect(moments.length).toBeGreaterThan(6)
    expect(journalFiles(moments.at(-1))).toBeGreaterThan(1)
    for (const moment of sample(moments, 8)) expect(await lostOf(moment)).toEqual([])
  }, 300_000)

  it('no record, published document or erasure that the evidence store confirmed is undone', async () => {
    const root = newFolder()
    const moments = momentsOf(root, ['--input-type=module', '-e', STORE, root])
    const names = [...(moments.at(-1)?.image.keys() ?? [])]
    expect(names.filter((path) => path.endsWith('.seg')).length).toBeGreaterThan(3)
    expect(moments.length).toBeGreaterThan(10)
    for (const moment of sample(moments, 12)) expect(await undone(moment)).toEqual([])
  }, 120_000)
})

/** An evidence store with small segments: records of three subjects, one of them erased, and documents. */
const STORE = `
import { createHash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { openEvidence } from '${DIST}/adapters/evidence/open.js'
import { jsonDigest } from '${DIST}/core/json/build.js'
const root = process.argv[1]
const log = openSync(root + '/done.log', 'a')
const say = (text) => writeSync(log, text)
const sha256 = (data) => createHash('sha256').update(data).digest()
const evidence = await openEvidence({ dir: root + '/evidence', masterKey: new Uint8Array(32).fill(7), segmentBytes: 600 })
for (let i = 0; i < 12; i++) {
  const digest = jsonDigest({ i }, { sha256 })
  const subject = ['ann', 'ben', 'cyd'][i % 3]
  const parts = [{ digest, kind: 'reason', value: { i } }]
  await evidence.put({ actionId: 'a' + i, operator: 'acme', subject, at: '2026-03-01T12:00:00.000Z', parts })
  say('put ' + digest + ' ' + subject)
  if (i === 8) {
    await evidence.erase({ subject: 'ben' })
    say('erased ben')
  }
  const document = Buffer.from('{"document":' + i + '}')
  await evidence.putPublic(sha256(document).toString('hex'), document)
  say('published ' + sha256(document).toString('hex'))
}
await evidence.close()
process.stdout.write('finished\\n')
`

/** What a store that is opened on this disk tells otherwise than it was told. */
async function undone({ said, image }: Moment): Promise<string[]> {
  const root = newFolder()
  writeImage(image, root)
  const evidence = await openEvidence({
    dir: join(root, 'evidence'),
    masterKey: new Uint8Array(32).fill(7),
  })
  try {
    const wrong: string[] = []
    const erasedAt = said.lastIndexOf('done erased ben')
    for (const [index, one] of said.entries()) {
      const [, what, digest = '', subject] = one.split(' ')
      if (what === 'put') {
        const { state } = await evidence.byDigest(digest)
        // The next record of an erased subject has a new key; an erasure not yet told may be done.
        const possible = ['present']
        if (subject === 'ben' && index < erasedAt) possible[0] = 'erased'
        else if (subject === 'ben' && erasedAt < 0) possible.push('erased')
        if (!possible.includes(state)) wrong.push(`${one}: ${state}`)
      }
      if (what === 'published' && (await evidence.getPublic(digest)) === null) wrong.push(one)
    }
    return wrong
  } finally {
    await evidence.close()
  }
}

const journalFiles = (moment: Moment | undefined): number =>
  [...(moment?.image.keys() ?? [])].filter((path) => path.endsWith('.jsonl')).length

/** What a gate that starts on this disk cannot tell of what was sent and answered. */
async function lostOf({ said, image }: Moment): Promise<string[]> {
  const root = newFolder()
  writeImage(image, root)
  const at = await rig({ manifest: MANIFEST }, root)
  try {
    const capsules = new Set((await at.capsules()).map(({ capsule }) => capsule.action_id))
    const lost: string[] = []
    for (const one of said) {
      const [log, action = ''] = one.split(' ')
      // What the child notes for its next run names declarations, not actions.
      if (log === 'ids' || log === 'again') continue
      if (!capsules.has(action)) lost.push(`${one}: no capsule`)
      const { state } = await at.gate.data.evidence.byAction(action)
      if (state !== 'present') lost.push(`${one}: evidence ${state}`)
    }
    return lost
  } finally {
    await at.close()
  }
}
