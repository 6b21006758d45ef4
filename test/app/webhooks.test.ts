import { createPublicKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { EVENT_TYPES, type EventType } from '../../src/adapters/webhook/model.js'
import { startWebhooks, type WebhookDeps } from '../../src/app/webhooks.js'
import { effective } from '../../src/config/effective.js'
import { loadConfig } from '../../src/config/load.js'
import { sayProblem } from '../../src/config/model.js'
import { verifyEvent } from '../../src/core/journal/event.js'
import { signed } from '../../src/gate/signed-event.js'
import { verifyLedger } from '../../src/verify.js'
import { checkOwn, type Receiver, receiver, SECRET } from '../adapters/webhook/harness.js'
import { decide, fakeTime, person, tool } from '../support/approvals.js'
import { PAYMENTS } from '../support/manifests.js'
import { type Rig, refund, rig } from '../support/rig.js'

const ROOT = join(import.meta.dirname, '..', '..')

describe('webhooks in gate.yaml', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gate-webhooks-config-'))
  })
  afterEach(() => rmSync(dir, { recursive: true, force: true }))
  const load = (text: string, env: Record<string, string> = {}) => {
    const file = join(dir, 'gate.yaml')
    writeFileSync(file, text)
    return loadConfig(file, env)
  }
  const said = (text: string, env: Record<string, string> = {}): readonly string[] => {
    const loaded = load(text, env)
    return loaded.ok ? [] : loaded.problems.map(sayProblem)
  }

  it('are loaded, their secrets by place', () => {
    const text = `webhooks:
  chat: {url: 'https://hooks.example.com/x', events: [approval.requested], secret_env: HOOK}
  siem: {url: 'http://10.0.0.5:9000/', events: [verdict.denied], allow_private: true}
`
    const loaded = load(text, { HOOK: `${SECRET} ${SECRET}` })
    if (!loaded.ok) throw new Error(loaded.problems.map(sayProblem).join('\n'))
    expect(loaded.config.webhooks.chat?.secret).toEqual({ kind: 'env', name: 'HOOK' })
    expect(JSON.stringify(effective(loaded.config))).not.toContain('whsec_')
  })

  it('load as docs/webhooks.md and the Slack example write them', () => {
    const page = readFileSync(join(ROOT, 'docs', 'webhooks.md'), 'utf8')
    const [, shown = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
    expect(said(shown, { CHAT_WEBHOOK_SECRET: SECRET })).toEqual([])
    expect(EVENT_TYPES.filter((type) => !page.includes(`| \`${type}\` |`))).toEqual([])
    const example = readFileSync(join(ROOT, 'examples', 'slack', 'gate.yaml'), 'utf8')
    const env = {
      CHAT_WEBHOOK_SECRET: SECRET,
      CHAT_SOURCE_SECRET: SECRET,
      PAYMENTS_TOKEN: 'x',
      BOT_TOKEN_SHA256: 'a'.repeat(64),
    }
    expect(said(example, env)).toEqual([])
  })

  it.each([
    ['chat: {url: "http://hooks.example.com/", events: [mode.changed]}', 'expected https'],
    ['chat: {url: "https://127.0.0.1/", events: [mode.changed]}', 'no public address'],
    ['chat: {url: "https://0x7f000001/", events: [mode.changed]}', 'no public address'],
    ['chat: {url: "https://[::ffff:10.0.0.1]/", events: [mode.changed]}', 'no public address'],
    ['chat: {url: "https://u:p@hooks.example.com/", events: [mode.changed]}', 'no user, password'],
    ['chat: {url: "ftp://hooks.example.com/", events: [mode.changed]}', 'expected an https URL'],
    ['chat: {url: "https://hooks.example.com/", events: []}', 'events'],
    ['chat: {url: "https://hooks.example.com/", events: [mode.changed, mode.changed]}', 'once'],
    ['chat: {url: "https://hooks.example.com/", events: [approval.approved]}', 'events'],
    ['chat: {url: "https://h.example/", events: [mode.changed], secret: x}', 'never written here'],
    ['chat: {url: "https://h.example/", events: [mode.changed], retries: 3}', 'unknown key'],
    ['chat: {url: "https://h.example/", events: [mode.changed], secret_env: NONE}', 'is not set'],
    ['chat: {url: "https://h.example/", events: [mode.changed], secret_env: BAD}', 'whsec_'],
  ])('refuse %s, at its line', (hook, message) => {
    const [problem = ''] = said(`operator: acme\nwebhooks:\n  ${hook}\n`, { BAD: 'hunter2' })
    expect(problem).toContain(message)
    expect(problem).toMatch(/^gate\.yaml:3:/)
    expect(problem).not.toContain('hunter2')
  })
})

describe('a gate with webhooks', () => {
  let at: Rig
  let hook: Receiver
  const time = fakeTime()
  beforeEach(async () => {
    hook = await receiver()
    at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer })
  })
  afterEach(async () => {
    await at.close()
    await hook.close()
  })

  function start(
    reports: string[],
    events: readonly EventType[] = EVENT_TYPES,
    more: Partial<WebhookDeps> = {},
  ) {
    const secret = null
    return startWebhooks(
      at.gate,
      {
        data_dir: join(at.dir, 'data'),
        webhooks: { chat: { url: hook.url, events, secret, allow_private: true } },
      },
      {
        report: ({ event }) => reports.push(event),
        adminUrl: 'http://127.0.0.1:8081',
        timer: time.timer,
        ...more,
      },
    )
  }

  it('tells of a request, its decision and a refusal, without one argument', async () => {
    const webhooks = await start([])
    const { dispatch } = tool()
    const asked = await at.gate.govern(refund('150.00', {}, 'order-secret-77'), dispatch)
    if (asked.kind !== 'pending') throw new Error(asked.kind)
    await decide(at.gate, asked.actionId, person('dana'), { kind: 'approve' })
    await at.gate.govern(
      refund('50.00', {
        caller: { bearer: 'nobody', certificate: null, asserted: null, source: 'x' },
      }),
      dispatch,
    )
    await hook.received(3)
    expect(hook.got.map(({ event }) => event.type).sort()).toEqual([
      'approval.decided',
      'approval.requested',
      'verdict.denied',
    ])
    const all = hook.got.map(({ body }) => body).join()
    for (const secret of ['order-secret-77', '150.00', 'dana', 'EUR'])
      expect(all).not.toContain(secret)
    const record = at.gate.data.keys().find(({ purpose }) => purpose === 'webhook')
    const x = Buffer.from(record?.public_key ?? '', 'hex').toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    expect(hook.got.every((got) => checkOwn(got, key))).toBe(true)
    await webhooks.close()
  })

  it('puts on the signed record that an endpoint is disabled and a person was not told', async () => {
    hook.answer = () => ({ status: 410 })
    const reports: string[] = []
    const counted: string[] = []
    const webhooks = await start(reports, ['approval.requested'], {
      count: (outcome) => counted.push(outcome),
    })
    await at.gate.govern(refund('150.00'), tool().dispatch)
    await hook.received(1)
    await webhooks.close()
    const lines = (await at.lines()).filter(({ type }) => type.startsWith('WEBHOOK_'))
    expect(lines.map(({ type }) => type)).toEqual(['WEBHOOK_DISABLED', 'WEBHOOK_DEAD'])
    for (const line of lines) {
      expect(verifyEvent(line, at.gate.data.keys(), nodeCrypto).ok).toBe(true)
    }
    expect(reports).toEqual(['webhook_disabled', 'webhook_dead'])
    expect(counted).toEqual(['dead'])
    expect(webhooks.stats()).toMatchObject([{ name: 'chat', pending: 0, dead: 1 }])
    // The gate starts again on a journal with these lines.
    at = await at.restart()
  })

  it('tells the newest head once a minute and at the end, and not for its own lines', async () => {
    const webhooks = await start([], ['journal.head'])
    await at.gate.govern(refund('50.00'), tool().dispatch)
    await at.gate.govern(refund('51.00'), tool().dispatch)
    time.advance(60)
    await hook.received(1)
    const upto = at.gate.data.journal.head().seq - 1
    expect(hook.got.map(({ event }) => [event.type, event.data.upto])).toEqual([
      ['journal.head', upto],
    ])
    const { parts } = at.gate
    await parts.journal.append([signed('WEBHOOK_ENABLED', { endpoint: 'chat' }, parts)])
    time.advance(600)
    await webhooks.close()
    expect(hook.got).toHaveLength(1)
  })

  it('holds a journal to a head by the body of its webhook', async () => {
    const webhooks = await start([], ['journal.head'])
    await at.gate.govern(refund('50.00'), tool().dispatch)
    await webhooks.close()
    await hook.received(1)
    const text = (await at.lines()).map((line) => `${JSON.stringify(line)}\n`)
    const options = { keys: at.gate.data.keys(), crypto: nodeCrypto, head: hook.got[0]?.body ?? '' }
    expect(verifyLedger(text.join(''), options).journal?.status).toBe('valid')
    const older = text.slice(0, text.findIndex((line) => line.includes('"type":"HEAD"')) + 1)
    expect(verifyLedger(older.join(''), options).journal).toMatchObject({
      status: 'invalid',
      findings: [{ code: 'journal_behind_head' }],
    })
  })

  it('without any is nothing, and leaves no folder', async () => {
    const none = { data_dir: join(at.dir, 'data'), webhooks: {} }
    const webhooks = await startWebhooks(at.gate, none, { report() {}, adminUrl: null })
    expect(webhooks.stats()).toEqual([])
    await webhooks.close()
  })
})
