import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { AgentRecord } from '../../src/adapters/identity/identity.js'
import { hashToken } from '../../src/adapters/identity/tokens.js'
import type { Mode } from '../../src/core/capsule/model.js'
import {
  AUTH,
  ask,
  get,
  type RawAnswer,
  type Stand,
  startStand,
  TOKEN,
} from '../mounts/proxy/harness.js'
import { answering, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/** A stored answer is handed out under the halts and policies of now, not of when it was made. */
const BODY = 'kept-secret'
const POLICY = `@id("payers") permit (principal in Role::"payer", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
const DENIED = `${POLICY}\n@id("over") @reason("over for this year") forbid (principal, action == Action::"pay", resource);`
const ASKED = `${POLICY}\n@id("ask") @hem("required") forbid (principal, action == Action::"pay", resource)
unless { context.approval.granted };`
/** Reads the argument that the first call had: the request must be the same one again. */
const BY_AMOUNT = `${POLICY}\n@id("small") forbid (principal, action == Action::"pay", resource)
when { context.args.amount.lessThan(decimal("6.0")) };`

let upstream: RawUpstream
let stand: Stand
let tokens: Map<string, AgentRecord>
let folders: string[]
beforeEach(async () => {
  folders = []
  tokens = new Map([[hashToken(TOKEN), { agent: 'bot', roles: ['payer'], developer: 'bot/1' }]])
  upstream = await rawUpstream(
    answering(
      `HTTP/1.1 200 OK\r\ncontent-length: ${BODY.length}\r\nconnection: close\r\n\r\n${BODY}`,
    ),
  )
  stand = await startStand({
    upstream: upstream.origin,
    policy: POLICY,
    identity: { tokens: () => tokens },
  })
})
afterEach(async () => {
  await stand.close()
  await upstream.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function judgeBy(policy: string, mode: Mode = 'enforce'): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'policies-'))
  folders.push(folder)
  writeFileSync(join(folder, 'p.cedar'), policy)
  const { operator, manifests: all } = stand.gate.read.judges()
  const manifests = all.filter(({ manifest }) => manifest.id !== 'dev.capsulegate.canary')
  expect(await stand.gate.reload({ operator, manifests, mode, policyFolder: folder })).toEqual([])
}

const pay = `POST /pay HTTP/1.1\r\nhost: g\r\nconnection: close\r\n${AUTH}idempotency-key: k\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{"amount":"5"}`

const WAYS = [
  ['a replay by its Idempotency-Key', () => ask(stand.port, pay)],
  ['a collected result', (id: string) => ask(stand.port, get(`/.gate/v1/actions/${id}/result`))],
] as const

describe.each(WAYS)('%s', (_name, again: (id: string) => Promise<RawAnswer>) => {
  let id: string
  beforeEach(async () => {
    const first = await ask(stand.port, pay)
    expect(first.status).toBe(200)
    id = first.headers.get('gate-action') ?? ''
  })

  async function expectRefused(code: string, status = 403, words?: string): Promise<void> {
    const { result, capsules } = await stand.after(() => again(id))
    expect(result.status).toBe(status)
    expect(JSON.parse(result.body.toString())).toMatchObject({
      code,
      ...(words === undefined ? {} : { deny_message: words }),
      capsule_id: capsules[0]?.capsule_id,
    })
    expect(result.text).not.toContain(BODY)
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.action_id).not.toBe(id)
  }
  async function expectGiven(): Promise<void> {
    const { result, capsules } = await stand.after(() => again(id))
    expect(result.status).toBe(200)
    expect(result.body.toString()).toBe(BODY)
    expect(result.headers.get('gate-replayed')).toBe('true')
    expect(result.headers.get('gate-action')).toBe(id)
    expect(capsules).toEqual([])
  }
  afterEach(() => expect(upstream.requests).toHaveLength(1))

  it('is given where nothing has changed', () => expectGiven())

  it.each([
    { kind: 'agent', name: 'bot' },
    { kind: 'tool', name: 'pay' },
    { kind: 'operator', name: 'acme' },
    { kind: 'all' },
  ] as const)(
    'is refused under a halt of $kind $name, and given when it is over',
    async (scope) => {
      await stand.gate.halt(scope, 'test')
      await expectRefused('halted')
      await stand.gate.resume(scope, 'test')
      await expectGiven()
    },
  )

  it('is refused with a capsule where policy denies the call by now', async () => {
    await judgeBy(DENIED)
    await expectRefused('policy_denied', 403, 'over for this year')
  })

  it('is judged by the arguments of the call it answers', async () => {
    await judgeBy(BY_AMOUNT)
    await expectRefused('policy_denied')
    await judgeBy(BY_AMOUNT.replace('6.0', '5.0'))
    await expectGiven()
  })

  it('is given where policy would ask a human', async () => {
    await judgeBy(ASKED)
    await expectGiven()
  })

  it('is given in observe mode, which denies nothing', async () => {
    await judgeBy(DENIED, 'observe')
    await expectGiven()
  })

  it('is refused where its agent has lost the role that let it call', async () => {
    tokens.set(hashToken(TOKEN), { agent: 'bot', roles: [], developer: 'bot/1' })
    await expectRefused('policy_denied')
  })

  it('is not given once its evidence is erased', async () => {
    await stand.gate.data.evidence.erase({
      operator: 'acme',
      day: new Date().toISOString().slice(0, 10),
    })
    const told = await again(id)
    expect(told.status).toBeGreaterThanOrEqual(400)
    expect(told.text).not.toContain(BODY)
  })
})
