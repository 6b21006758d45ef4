import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { JournalReport } from '../../src/adapters/journal/model.js'
import { openJournal } from '../../src/adapters/journal/open.js'
import { exportKeyring } from '../../src/adapters/keys/keyring.js'
import { openSigner } from '../../src/adapters/keys/signer.js'
import { systemClock } from '../../src/app/clock.js'
import { journalOrigin, openData } from '../../src/app/data/open.js'
import { watchVerification } from '../../src/gate/operate/checks.js'
import type { JournalLine } from '../../src/ports/journal.js'
import { tool } from '../support/approvals.js'
import { PAYMENTS } from '../support/manifests.js'
import { type Rig, refund, rig } from '../support/rig.js'

/**
 * A thief of the event key can cover any line with a head, and the start obeys it. What such a line cannot have
 * is the signature of the gate itself: that is checked behind the start, and turns readiness off.
 */
let at: Rig
const reports: JournalReport[] = []
afterEach(() => {
  reports.length = 0
  rmSync(at.dir, { recursive: true, force: true })
})

const ENVELOPE = new Set(['v', 'origin', 'seq', 'prev', 'at', 'type'])
const members = (line: JournalLine): { [name: string]: unknown } =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !ENVELOPE.has(name)))
/** Another signature of the same form. */
const otherThan = (signature: unknown): string =>
  String(signature).replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))

/** Appends a line of that type, copied from a genuine one, with a signature that is none; covered by a head. */
async function forge(type: string, signature: 'sig' | 'signature'): Promise<void> {
  const { dir } = at
  const genuine = (await at.lines()).findLast((line) => line.type === type)
  if (genuine === undefined) throw new Error(`no ${type}`)
  await at.gate.close()
  const keysDir = join(dir, 'data', 'keys')
  const journal = await openJournal({
    dir: join(dir, 'data', 'journal'),
    headFile: join(dir, 'head'),
    origin: journalOrigin(keysDir),
    signer: openSigner(keysDir),
    keys: exportKeyring(keysDir).keys,
    clock: { now: Date.now },
  })
  const own = members(genuine)
  const json = JSON.stringify({ ...own, [signature]: otherThan(own[signature]) })
  await journal.append([{ type, json }])
  await journal.close()
}

describe.each([
  ['CONFIG_CHANGED', 'sig'],
  ['CAPSULE', 'signature'],
] as const)('a %s with another signature than the gate’s, under a genuine head', (type, member) => {
  it.each(['thread', 'this_thread'] as const)(
    'is damage: the journal is not well, and the gate not ready (%s)',
    async (where) => {
      at = await rig({ manifest: PAYMENTS })
      await at.gate.govern(refund('900.00'), tool().dispatch)
      await forge(type, member)
      // Not a whole gate: damage that is found early enough stops its start.
      const { journal, close } = await openData({
        dir: join(at.dir, 'data'),
        headFile: join(at.dir, 'head'),
        segmentBytes: 64 * 1024 * 1024,
        snapshotEvery: 1_000_000,
        idempotencyTtlSeconds: 60,
        clock: systemClock,
        report: (event) => reports.push(event),
        recorder: { in: where },
      })
      try {
        const check = watchVerification({ journal })
        const { damage } = await journal.verified
        expect(damage).toContain(`is a ${type} whose own signature does not hold`)
        expect(check()).toEqual({ name: 'background_verification', ok: false, detail: damage })
        expect(reports).toContainEqual({ kind: 'damaged', why: damage })
        while (journal.health().ok) await new Promise((resolve) => setImmediate(resolve))
        expect(journal.health()).toEqual({ ok: false, reason: damage })
      } finally {
        await close()
      }
    },
  )
})
