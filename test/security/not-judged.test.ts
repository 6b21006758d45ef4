import { afterEach, describe, expect, it } from '@jest/globals'
import type { HttpCall } from '../../src/core/call/call.js'
import type { EvidencePart } from '../../src/ports/evidence.js'
import { decide, person } from '../support/approvals.js'
import { httpCall } from '../support/manifests.js'
import { type Rig, type RigOptions, rig, TOKEN } from '../support/rig.js'

const MANIFEST = `id: com.acme.orders
tools:
  pay: {match: POST /pay, args: {amount: decimal}, also: {query: [trace], body: [/meta]}}
  raw: {match: PUT /raw, also: {body: any}}
  close: {match: POST /close}
`
const POLICIES = `
@id("all") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("ask") @hem("required") forbid (principal, action == Action::"pay", resource)
unless { context.approval.granted };
@id("ask-raw") @hem("required") forbid (principal, action == Action::"raw", resource)
unless { context.approval.granted };
`
const call = (method: string, target: string, body: unknown, more: Partial<HttpCall> = {}) =>
  httpCall(method, target, body, {
    caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
    ...more,
  })
const done = () =>
  Promise.resolve({
    observation: { kind: 'claimed', ok: true } as const,
    held: null,
  })

let running: Rig
const start = async (more: Partial<RigOptions> = {}): Promise<void> => {
  running = await rig({ manifest: MANIFEST, policies: POLICIES, ...more })
}
afterEach(() => running.close())
const govern = (sent: HttpCall) => running.gate.govern(sent, done)
const partOf = async (actionId: string, kind: EvidencePart['kind'], name: string) => {
  const found = await running.gate.data.evidence.byAction(actionId)
  return found.state === 'present'
    ? found.value.find((part) => part.kind === kind && part.name === name)?.value
    : undefined
}

describe('what passes without being judged', () => {
  it('is shown to approvers as such, and bound in the request digest', async () => {
    await start()
    const sent = (trace: string, note: string) =>
      call('POST', `/pay?trace=${trace}`, { amount: '1', meta: { note } })
    const first = await govern(sent('a', 'x'))
    if (first.kind !== 'pending') throw new Error(first.kind)
    expect(first.code).toBe('approval_pending')
    expect(await partOf(first.actionId, 'approval', 'document')).toMatchObject({
      not_judged: { query: [['trace', 'a']], members: ['/meta'] },
    })
    const raw = await govern(call('PUT', '/raw', 'a=b', { headers: [['content-type', 'a/b']] }))
    if (raw.kind !== 'pending') throw new Error(raw.kind)
    expect(await partOf(raw.actionId, 'approval', 'document')).toMatchObject({
      not_judged: { body: true },
    })
    for (const other of [sent('b', 'x'), sent('a', 'y')]) {
      const answer = await govern({ ...other, approvalId: first.actionId })
      expect(answer).toMatchObject({ kind: 'refused', code: 'approval_mismatch' })
    }
  })

  it('belongs to what a person refused: another value is another call', async () => {
    await start()
    const sent = (trace: string, note: string) =>
      call('POST', `/pay?trace=${trace}`, { amount: '1', meta: { note } })
    const first = await govern(sent('a', 'x'))
    if (first.kind !== 'pending') throw new Error(first.kind)
    await decide(running.gate, first.actionId, person('alice'), { kind: 'deny', reason: 'no' })
    expect(await govern(sent('a', 'x'))).toMatchObject({ code: 'approval_refused' })
    for (const other of [sent('b', 'x'), sent('a', 'y')]) {
      expect(await govern(other)).toMatchObject({ code: 'approval_pending' })
    }
  })

  it('is nothing where the tool lets nothing through', async () => {
    await start({ manifest: MANIFEST.replace(', also: {query: [trace], body: [/meta]}', '') })
    const answer = await govern(call('POST', '/pay', { amount: '1' }))
    if (answer.kind !== 'pending') throw new Error(answer.kind)
    expect(await partOf(answer.actionId, 'approval', 'document')).not.toHaveProperty('not_judged')
  })
})

describe('observe mode', () => {
  it('passes names and members that nothing reads, and records their names alone', async () => {
    await start({ mode: 'observe' })
    const sent = call('POST', '/pay?dry_run=SECRET', { amount: '1', role: 'SECRET' })
    const answer = await govern(sent)
    expect(answer).toMatchObject({ kind: 'executed', verdict: 'executed' })
    const [line] = await running.capsules()
    expect(line?.capsule.constraints).toContainEqual(
      expect.objectContaining({
        id: 'dev.capsulegate.not_read',
        result: 'fail',
        blocking: false,
      }),
    )
    const { actionId } = answer as { actionId: string }
    const part = await partOf(actionId, 'constraint', 'dev.capsulegate.not_read')
    expect(part).toMatchObject({ query: ['dry_run'], members: ['/role'] })
    expect(JSON.stringify(part)).not.toContain('SECRET')
  })

  it.each<[string, HttpCall, string]>([
    ['a body that nothing reads', call('POST', '/close', { a: 1 }), 'body_not_read'],
    ['a look-alike', call('POST', '/pay?Amount=2', { amount: '1' }), 'arguments_invalid'],
    [
      'a look-alike member',
      call('POST', '/pay', { amount: '1', AMOUNT: '2' }),
      'arguments_invalid',
    ],
    ['a clash', call('POST', '/pay?amount=2', { amount: '1' }), 'arguments_invalid'],
    ['a method', call('POST', '/pay?_method=PUT', { amount: '1' }), 'arguments_invalid'],
    ['a second spelling', call('POST', '/Pay', { amount: '1' }), 'target_ambiguous'],
    ['a path parameter', call('POST', '/pay;x', { amount: '1' }), 'target_malformed'],
  ])('never passes %s', async (_name, sent, code) => {
    await start({ mode: 'observe' })
    expect(await govern(sent)).toMatchObject({ kind: 'refused', code })
  })

  it('of one manifest alone relaxes as much', async () => {
    await start({ manifest: `mode: observe\n${MANIFEST}` })
    expect(await govern(call('POST', '/pay?dry_run=1', { amount: '1' }))).toMatchObject({
      kind: 'executed',
    })
  })
})
