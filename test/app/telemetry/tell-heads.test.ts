import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { createHeadTeller } from '../../../src/app/telemetry/tell-heads.js'
import type { SignedHead } from '../../../src/core/journal/head.js'
import { verifyLedger } from '../../../src/verify.js'
import { fakeTime, tool } from '../../support/approvals.js'
import { PAYMENTS } from '../../support/manifests.js'
import { refund, rig } from '../../support/rig.js'

const headAt = (upto: number): SignedHead => ({
  origin: 'gate-1',
  upto,
  hash: 'a'.repeat(64),
  time: '2026-03-01T12:00:00.000Z',
  lines: upto,
  capsules: 0,
  kid: 'aa',
  sig: 'AA',
})

function teller() {
  const time = fakeTime()
  const heads = createHeadTeller(time.timer)
  const told: number[] = []
  heads.subscribe(({ upto }) => told.push(upto))
  return { time, heads, told }
}

describe('heads for the log and for webhooks', () => {
  it('are told at most once a minute, the newest each time', () => {
    const { time, heads, told } = teller()
    for (let upto = 1; upto <= 300; upto++) {
      heads.covered(headAt(upto), ['CAPSULE'])
      time.advance(1)
    }
    expect(told).toEqual([60, 120, 180, 240, 300])
    time.advance(600)
    expect(told).toHaveLength(5)
  })

  it('are not told for lines about webhooks alone, but cover them once there is more', () => {
    const { time, heads, told } = teller()
    heads.covered(headAt(1), ['WEBHOOK_DEAD'])
    heads.covered(headAt(2), ['WEBHOOK_DISABLED', 'WEBHOOK_DEAD'])
    time.advance(600)
    heads.flush()
    expect([told, time.waiting()]).toEqual([[], 0])
    heads.covered(headAt(3), ['WEBHOOK_DEAD', 'CAPSULE'])
    heads.covered(headAt(4), ['WEBHOOK_DEAD'])
    time.advance(60)
    expect(told).toEqual([4])
  })

  it('are told at the end, once', () => {
    const { time, heads, told } = teller()
    heads.covered(headAt(1), ['HALT'])
    heads.flush()
    heads.flush()
    time.advance(600)
    expect(told).toEqual([1])
  })
})

describe('the log of a gate', () => {
  it('has heads that hold a copy of its journal: one after a minute, one when it stops', async () => {
    const time = fakeTime()
    const at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer })
    const logged = () => at.reports.filter(({ event }) => event === 'journal_head')
    await at.gate.govern(refund('50'), tool().dispatch)
    expect(logged()).toEqual([])
    time.advance(60)
    expect(logged()).toHaveLength(1)
    const folder = join(at.dir, 'data', 'journal')
    const journal = (): string =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.jsonl'))
        .sort()
        .map((name) => readFileSync(join(folder, name), 'utf8'))
        .join('')
    const copy = journal()
    await at.gate.govern(refund('51'), tool().dispatch)
    const keys = at.gate.data.keys()
    await at.gate.close()
    expect(logged()).toHaveLength(2)
    const statusOf = (text: string, upToLine: number) => {
      // As the log has it: the head is a member of the line.
      const head = logged()
        .slice(0, upToLine)
        .map((line) => JSON.stringify(line))
        .join('\n')
      return verifyLedger(text, { keys, crypto: nodeCrypto, head }).journal?.status
    }
    expect(statusOf(copy, 1)).toBe('valid')
    expect(statusOf(journal(), 2)).toBe('valid')
    expect(statusOf(copy, 2)).toBe('invalid')
    await at.close().catch(() => undefined)
  })
})
