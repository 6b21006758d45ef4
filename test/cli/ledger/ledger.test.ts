import { spawn } from 'node:child_process'
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Capsule } from '../../../src/core/capsule/model.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import { recordOutcome } from '../../../src/gate/operate/outcome.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { cli } from '../support.js'

const MAIN = join(import.meta.dirname, '..', '..', '..', 'dist', 'cli', 'main.js')
type Entry = {
  seq: number
  at: string
  agent: string | null
  tool: string | null
  capsule: Capsule
}

let gate: Rig
let data: string
let out: string
const send = (amount: string, order: string): Promise<Answer> =>
  gate.gate.govern(refund(amount, {}, order), async () => ({
    observation: { kind: 'sent', cause: 'cut', deadline: false },
    held: null,
  }))
const ids = (answer: Answer) => {
  if (answer.kind === 'unrecorded') throw new Error('unrecorded')
  return answer
}
let sent: { actionId: string; capsuleId: string }

beforeAll(async () => {
  out = mkdtempSync(join(tmpdir(), 'ledger-'))
  gate = await rig({ manifest: PAYMENTS, segmentBytes: 65_536 })
  data = join(gate.dir, 'data')
  sent = ids(await send('42.42', 'order-word'))
  for (let i = 0; i < 120; i++) await send('900.00', `order-word-${i}`)
  const report = { actionId: sent.actionId, status: 'reverted', ref: 'T-1', by: 'me' } as const
  await recordOutcome(report, gate.gate.parts)
})
afterAll(async () => {
  await gate.close()
  rmSync(out, { recursive: true, force: true })
})

const head = (): string => join(gate.dir, 'head')
const ledger = (...args: string[]) => cli(['ledger', ...args, '--data', data])
const entries = (text: string): Entry[] =>
  text
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

describe('ledger, beside a running gate', () => {
  it('ls lists every capsule once, filtered by what public records can tell', async () => {
    const all = entries((await ledger('ls', '--json')).out)
    const written = (await gate.lines()).filter(({ type }) => type === 'CAPSULE')
    expect(all.map(({ seq }) => seq)).toEqual(written.map(({ seq }) => seq))
    const refunds = entries((await ledger('ls', '--json', '--tool', 'create_refund')).out)
    expect(refunds).toHaveLength(121)
    expect(refunds[0]).toMatchObject({
      agent: 'support-bot',
      capsule: { action_id: sent.actionId },
    })
    expect(refunds[1]).toMatchObject({ tool: 'create_refund', agent: 'support-bot' })
    const errored = ['--tool', 'create_refund', '--verdict', 'errored']
    const sentOnes = entries((await ledger('ls', '--json', ...errored)).out)
    expect(sentOnes.map(({ capsule }) => capsule.capsule_id)).toEqual([sent.capsuleId])
    const decided = entries((await ledger('ls', '--json', '--decision', sent.actionId)).out)
    expect(decided.map(({ capsule }) => capsule['dev.capsulegate.outcome_of'] ?? null)).toEqual([
      null,
      sent.capsuleId,
    ])
    const blocked = await ledger('ls', '--verdict', 'blocked', '--since', '1h')
    expect(blocked.out.trim().split('\n')).toHaveLength(120)
    expect(blocked.out).toMatch(/blocked {2,}policy {2}- /)
    expect(blocked.out).not.toMatch(/order-word|900\.00/)
    expect((await ledger('ls', '--since', '2999-01-01T00:00:00Z')).out).toBe('')
  })

  it.each([
    ['ls', '--verdict', 'nonsense'],
    ['ls', '--since', 'yesterday-ish'],
    ['show', 'nothing-like-it'],
  ])('%s %s %s is refused as a mistake', async (...args) => {
    expect((await ledger(...args)).code).toBe(2)
  })

  it('tail shows the last, and follows what comes until it is told to stop', async () => {
    const last = entries((await ledger('tail', '-n', '3', '--json')).out)
    const all = (await gate.lines()).filter(({ type }) => type === 'CAPSULE')
    expect(last.map(({ seq }) => seq)).toEqual(all.slice(-3).map(({ seq }) => seq))
    const child = spawn(process.execPath, [
      ...[MAIN, 'ledger', 'tail', '-f', '-n', '1', '--json', '--data', data],
    ])
    let text = ''
    let wake = (): void => {}
    child.stdout.on('data', (chunk) => {
      text += chunk
      wake()
    })
    const lines = async (count: number): Promise<Entry[]> => {
      while (text.split('\n').length <= count) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return entries(text)
    }
    await lines(1)
    const first = ids(await send('901.00', 'followed-1'))
    await lines(2)
    const second = ids(await send('902.00', 'followed-2'))
    const seen = await lines(3)
    expect(seen.map(({ capsule }) => capsule.capsule_id).slice(1)).toEqual([
      first.capsuleId,
      second.capsuleId,
    ])
    const exit = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGINT')
    expect(await exit).toBe(0)
  })

  it('show tells an action with its outcome, and writes a statement that verifies', async () => {
    const shown = JSON.parse((await ledger('show', sent.actionId, '--json')).out)
    const types = shown.lines.map(
      ({ type, statement }: { type: string; statement?: string }) => statement ?? type,
    )
    expect(types).toEqual(['ACTION_DISPATCHED', 'agent_action', 'outcome'])
    const file = join(out, 'one.cose')
    expect((await ledger('show', sent.capsuleId, '--cose', file)).code).toBe(0)
    const keyring = join(out, 'keyring.json')
    writeFileSync(keyring, (await cli(['keys', 'export', '--dir', join(data, 'keys')])).out)
    expect((await cli(['verify', file, '--keys', keyring])).code).toBe(0)
  })

  it('export gives an auditor what verifies offline, and nothing private', async () => {
    const folder = join(out, 'bundle')
    const done = await ledger('export', '--out', folder)
    expect(done.code).toBe(0)
    const text = readFileSync(join(folder, 'journal.jsonl'), 'utf8')
    const here = readdirSync(join(data, 'journal'))
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .map((name) => readFileSync(join(data, 'journal', name), 'utf8'))
      .join('')
    expect(text).toBe(here)
    const args = ['verify', join(folder, 'journal.jsonl'), '--keys', join(folder, 'keyring.json')]
    expect((await cli(args)).code).toBe(0)
    for (const name of readdirSync(folder, { recursive: true }).map(String)) {
      expect(name).not.toMatch(/\.key|salt|segments/)
    }
    expect((await ledger('export', '--out', folder)).code).toBe(2)
  })
})

describe('ledger verify', () => {
  it('passes the folder, and finds a line changed, a tail cut off and an older copy', async () => {
    const good = await ledger('verify', '--head', head())
    expect([good.code, good.out]).toEqual([0, expect.stringContaining('complete up to head')])
    const copy = await import('node:fs').then(({ cpSync }) => {
      const folder = join(out, 'copy')
      cpSync(data, folder, { recursive: true })
      return folder
    })
    const check = (): ReturnType<typeof cli> =>
      cli(['ledger', 'verify', '--data', copy, '--head', head()])
    const segments = readdirSync(join(copy, 'journal')).filter((name) => name.endsWith('.jsonl'))
    const newest = join(copy, 'journal', segments.sort().at(-1) as string)
    const whole = readFileSync(newest, 'utf8')
    const lines = whole.trimEnd().split('\n')
    writeFileSync(newest, `${lines.slice(0, -1).join('\n')}\n`)
    const uncovered = await check()
    expect([uncovered.code, uncovered.out]).toEqual([
      3,
      expect.stringContaining('1 lines stand behind'),
    ])
    writeFileSync(newest, `${lines.slice(0, -2).join('\n')}\n`)
    const behind = await check()
    expect([behind.code, behind.out]).toEqual([1, expect.stringContaining('older copy')])
    writeFileSync(newest, whole.replace('"human_disposed":false', '"human_disposed":true'))
    expect((await check()).code).toBe(1)
  })
})

describe('ledger archive', () => {
  it('is refused while a gate runs, then moves sealed segments, and the gate goes on', async () => {
    const to = join(out, 'archive')
    const running = await ledger('archive', '--to', to)
    expect([running.code, running.err]).toEqual([1, expect.stringContaining('stop the gate')])
    const before = await gate.lines()
    await gate.gate.data.journal.verified
    await gate.gate.close()
    const done = await ledger('archive', '--to', to, '--json')
    expect(done.err).toBe('')
    const { moved } = JSON.parse(done.out) as { moved: string[] }
    expect(moved.length).toBeGreaterThan(1)
    expect(readdirSync(to).sort()).toEqual(moved)
    const kept = readFileSync(join(data, 'journal', moved.at(-1)?.replace('jsonl', 'idx') ?? ''))
    const { seq: last } = JSON.parse(JSON.parse(kept.toString('utf8', 0, kept.indexOf(10))).seal)
    const rest = entries((await ledger('ls', '--json')).out).map(({ seq }) => seq)
    expect(rest).toEqual(
      before.filter(({ type, seq }) => type === 'CAPSULE' && seq > last).map(({ seq }) => seq),
    )
    // Not missing, because their seals are kept; what is not here is told as not checked.
    const checked = await ledger('verify', '--head', head())
    expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('copy them back')])
    expect(checked.out).toContain('the lines of archived segments: their seals are here and hold')
    // A second time there is nothing left to do.
    expect((await ledger('archive', '--to', to)).out).toBe('nothing to archive\n')
    gate = await rig({ manifest: PAYMENTS, segmentBytes: 65_536 }, gate.dir)
    expect((await send('900.00', 'after')).kind).toBe('refused')
    await gate.gate.close()
    for (const name of moved) copyFileSync(join(to, name), join(data, 'journal', name))
    gate = await rig({ manifest: PAYMENTS, segmentBytes: 65_536 }, gate.dir)
    expect((await gate.lines()).slice(0, before.length)).toEqual(before)
    expect((await gate.gate.data.journal.verified).damage).toBeNull()
  })
})
