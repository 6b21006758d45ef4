import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { readJournal } from '../../src/adapters/journal/read/read-journal.js'
import { exportKeyring } from '../../src/adapters/keys/keyring.js'
import type { Capsule } from '../../src/core/capsule/model.js'
import { verifyLedger } from '../../src/verify.js'
import { draws, sample } from '../support/draws.js'
import { expectEvidence } from '../support/evidence.js'
import { POLICIES } from '../support/rig.js'

/**
 * kill -9 while runtimes hold permits and report on them: every permit that was told has one capsule, every
 * report that was acknowledged is what that capsule says, and nobody's word is recorded as more than that.
 */
const SEAMS = sample(
  [
    'before_intent',
    'after_intent',
    'before_first_byte',
    'after_last_byte',
    'before_capsule',
    'after_capsule',
    'before_write',
    'after_write',
    'before_sync',
    'after_sync',
    'before_evidence_write',
    'after_evidence_sync',
  ],
  4,
)
const RUNTIMES = 20
const CHILD = join(import.meta.dirname, '..', 'support', 'permit-child.mjs')
let dir = ''
let running: ChildProcess | null = null
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-permit-crash-'))
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'policies', 'p.cedar'), POLICIES)
})
afterEach(() => {
  running?.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
})

async function start(seam = 'none', hits = 1) {
  const child = fork(CHILD, [dir, seam, String(hits)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  running = child
  let said = ''
  child.stdout?.on('data', (chunk) => {
    said += String(chunk)
  })
  const gone = once(child, 'exit')
  const early = gone.then(([code, signal]) => {
    throw new Error(`${seam}: gone at start, ${code} ${signal} ${said}`)
  })
  const [message] = await Promise.race([once(child, 'message'), early])
  early.catch(() => undefined)
  const gate = `http://127.0.0.1:${(message as { port: number }).port}/.gate/v1`
  return {
    gate,
    gone,
    said: () => said,
    kill: () => child.kill('SIGKILL'),
    async stop() {
      child.send('stop')
      expect((await gone)[0]).toBe(0)
    },
  }
}

type Told = { readonly status: number; readonly body: { readonly [name: string]: unknown } }
/** Null: the gate was gone before it had answered. */
async function post(url: string, body: unknown): Promise<Told | null> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as Told['body'] }
  } catch {
    return null
  }
}
const ask = (gate: string, order: string): Promise<Told | null> =>
  post(`${gate}/decide`, {
    tool: 'create_refund',
    arguments: { order, currency: 'EUR', amount: '5' },
  })
const report = (gate: string, id: string, ok: boolean): Promise<Told | null> =>
  post(`${gate}/actions/${id}/report`, { ok, claimed: { result: id } })

async function read() {
  const capsules = new Map<string, Capsule[]>()
  const dispatched: string[] = []
  let text = ''
  for await (const { line, raw } of readJournal(join(dir, 'data', 'journal'))) {
    text += `${Buffer.from(raw).toString('utf8').replace(/\n$/, '')}\n`
    if (line.type === 'ACTION_DISPATCHED') dispatched.push(String(line.action_id))
    if (line.type !== 'CAPSULE') continue
    const capsule = line.capsule as Capsule
    capsules.set(capsule.action_id, [...(capsules.get(capsule.action_id) ?? []), capsule])
  }
  const { keys } = exportKeyring(join(dir, 'data', 'keys'))
  const { results, journal } = verifyLedger(text, { keys, crypto: nodeCrypto })
  expect(journal).toMatchObject({ status: 'valid', complete: { ok: true } })
  expect(results.filter(({ ok }) => !ok).slice(0, 3)).toEqual([])
  return { capsules, dispatched }
}

it('a permit that was open at the kill is recovered as a runtime’s, and its report comes too late', async () => {
  const first = await start()
  const permit = await ask(first.gate, 'o-1')
  expect(permit).toMatchObject({ status: 200, body: { verdict: 'permit' } })
  const id = String(permit?.body.action_id)
  first.kill()
  await first.gone
  const second = await start()
  const late = await report(second.gate, id, true)
  await second.stop()
  const { capsules } = await read()
  expect(capsules.get(id)).toHaveLength(1)
  const [capsule] = capsules.get(id) ?? []
  expect(capsule).toMatchObject({
    'dev.capsulegate.recovered': true,
    disposition: { verdict_class: 'errored', decision: 'accept' },
    effect: { status: 'dispatched', effect_attestation: 'runtime_claimed' },
  })
  expect(late).toMatchObject({
    status: 409,
    body: { code: 'report_over', capsule_id: capsule?.capsule_id },
  })
}, 60_000)

it('keeps its word to every runtime, wherever it is killed', async () => {
  const permits = new Set<string>()
  const reports = new Map<string, { verdict: unknown; capsule: unknown }>()
  async function runtime(gate: string, name: string): Promise<void> {
    for (let n = 0; n < 40; n++) {
      const permit = await ask(gate, `${name}-${n}`)
      if (permit === null) return
      expect(permit).toMatchObject({ status: 200, body: { verdict: 'permit' } })
      const id = String(permit.body.action_id)
      permits.add(id)
      // One that it never reports on; an agent may hold 64.
      if (n === 2) continue
      const told = await report(gate, id, n % 3 !== 0)
      if (told === null) return
      expect(told.status).toBe(200)
      reports.set(id, { verdict: told.body.verdict, capsule: told.body.capsule_id })
    }
  }
  for (const [index, seam] of SEAMS.entries()) {
    const hits = /write|sync/.test(seam) ? 15 + 3 * index : 40 + 7 * index
    const { gate, gone, said } = await start(seam, hits)
    await Promise.all(
      Array.from({ length: RUNTIMES }, (_, i) => runtime(gate, `${seam}-${index}-${i}`)),
    )
    expect({ seam, signal: (await gone)[1], said: said() }).toEqual({
      seam,
      signal: 'SIGKILL',
      said: `killed at ${seam}\n`,
    })
  }
  // What was open at a kill is concluded; what is open now is cut by the stop.
  const last = await start()
  const lost = [...permits].filter((id) => !reports.has(id))
  const late = await Promise.all(lost.map(async (id) => [id, await report(last.gate, id, true)]))
  await ask(last.gate, 'left open')
  await last.stop()

  const { capsules, dispatched } = await read()
  const all = [...capsules.values()]
  const tally = {
    permits: permits.size,
    reports: reports.size,
    permits_without_capsule: [...permits].filter((id) => !capsules.has(id)).length,
    concluded_twice: all.filter((of) => of.length > 1).length,
    dispatched_without_capsule: dispatched.filter((id) => !capsules.has(id)).length,
    reports_not_as_told: [...reports].filter(([id, { verdict, capsule }]) => {
      const [of] = capsules.get(id) ?? []
      return of?.capsule_id !== capsule || of?.disposition.verdict_class !== verdict
    }).length,
    more_than_a_word: all.filter(
      ([of]) =>
        of?.effect !== undefined &&
        (of.effect.effect_attestation !== 'runtime_claimed' || of.effect.status !== 'dispatched'),
    ).length,
  }
  process.stdout.write(`permits and kills: ${JSON.stringify(tally)}\n`)
  expect(tally.permits).toBeGreaterThan(draws(300, 80))
  expect(tally).toMatchObject({
    permits_without_capsule: 0,
    concluded_twice: 0,
    dispatched_without_capsule: 0,
    reports_not_as_told: 0,
    more_than_a_word: 0,
  })
  for (const [id, told] of late as [string, Told][]) {
    const [of] = capsules.get(id) ?? []
    expect(told).toMatchObject({ status: 409, body: { capsule_id: of?.capsule_id } })
  }
  expect((await expectEvidence(join(dir, 'data'))).recovered).toBeGreaterThan(0)
}, 600_000)
