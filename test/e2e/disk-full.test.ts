import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Dispatch, Dispatched } from '../../src/ports/dispatch.js'
import { PAYMENTS } from '../support/manifests.js'
import { missingMount, needs } from '../support/needs.js'
import { type Rig, refund, rig } from '../support/rig.js'

/**
 * A real full disk and a real read-only one under a running gate. The tests run as root, so permissions
 * prove nothing: a small tmpfs does.
 */
const dir = mkdtempSync(join(tmpdir(), 'gate-disk-'))
const mount = (...args: string[]): boolean => spawnSync('mount', args).status === 0
const mounted = mount('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', dir)

let gate: Rig
beforeAll(async () => {
  if (mounted) gate = await rig({ manifest: PAYMENTS }, dir)
})
afterAll(async () => {
  if (mounted) {
    await gate.gate.close()
    spawnSync('umount', ['-l', dir])
  }
  rmSync(dir, { recursive: true, force: true })
})

const FILLER = join(dir, 'filler')
/** Takes every block there is. */
function fill(): void {
  const file = openSync(FILLER, 'w')
  try {
    for (const size of [65536, 4096]) {
      const block = Buffer.alloc(size, 1)
      try {
        for (;;) writeSync(file, block)
      } catch {
        // Full at this size; the smaller one fills the rest.
      }
    }
  } finally {
    closeSync(file)
  }
}

const claimed: Dispatched = {
  observation: { kind: 'sent', cause: 'reset', deadline: false },
  held: null,
}
const never: Dispatch = () => Promise.reject(new Error('must not be sent'))

needs(missingMount(mounted)).describe('a full disk', () => {
  it('concludes what was sent out of the reserve, refuses what is new, and goes on when there is room', async () => {
    let finish: (result: Dispatched) => void = () => undefined
    const sent = new Promise<void>((resolve) => {
      const underWay = gate.gate.govern(refund('5', {}, 'in-flight'), () => {
        resolve()
        return new Promise((end) => {
          finish = end
        })
      })
      void underWay.then((answer) => {
        ended = answer
      })
    })
    let ended: unknown = null
    await sent
    fill()

    let dispatched = false
    const refusals = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        gate.gate.govern(refund('5', {}, `new-${i}`), async () => {
          dispatched = true
          return claimed
        }),
      ),
    )
    expect(refusals.map((answer) => answer.kind === 'unrecorded' && answer.status)).toEqual(
      Array.from({ length: 20 }, () => 503),
    )
    expect(dispatched).toBe(false)

    finish(claimed)
    for (let turn = 0; ended === null && turn < 10_000; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(ended).toMatchObject({ kind: 'refused', code: 'outcome_unknown' })

    unlinkSync(FILLER)
    let again = await gate.gate.govern(refund('600'), never)
    // The journal and the evidence store each look for room by themselves.
    for (let turn = 0; again.kind === 'unrecorded' && turn < 200; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      again = await gate.gate.govern(refund('600'), never)
    }
    expect(again).toMatchObject({ kind: 'refused', code: 'constraint_failed' })

    const sentLines = (await gate.lines()).filter(({ type }) => type === 'ACTION_DISPATCHED')
    const concluded = new Set((await gate.capsules()).map(({ capsule }) => capsule.action_id))
    expect(sentLines.filter((line) => !concluded.has(String(line.action_id)))).toEqual([])
  })

  it('turned read-only: nothing is sent and nothing is promised', async () => {
    const readOnly = mount('-o', 'remount,ro', dir)
    if (!readOnly) {
      process.stdout.write(
        'disk-full: remount,ro is refused while files are open; that part did not run\n',
      )
      return
    }
    const answer = await gate.gate.govern(refund('5'), never)
    expect(answer).toMatchObject({ kind: 'unrecorded', code: 'record_unavailable' })
    mount('-o', 'remount,rw', dir)
  })
})
