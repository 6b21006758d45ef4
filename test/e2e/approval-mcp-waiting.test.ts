import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RunningGate } from '../../src/app/open-gate.js'
import { type FakeTime, fakeTime, person } from '../support/approvals.js'
import { stepsOf } from '../support/intents.js'
import {
  LINK,
  type Message,
  type MessageOptions,
  message,
  OWN,
  problemIn,
} from '../support/mcp/messages.js'
import { type Scripted, scripted } from '../support/mcp/scripted.js'
import { DECLARING, MANIFEST, POLICIES } from './approval-conformance.js'
import { type Clients, clientsOnStdio, clientsOverHttp, overMcp } from './approval-over-mcp.js'

/** How a client of each era learns that a person decides, and how it comes back. */
const MOUNTS: Record<string, (gate: RunningGate, server: Scripted) => Promise<Clients>> = {
  'a wrapped MCP server': clientsOnStdio,
  'MCP over HTTP': clientsOverHttp,
}
const URL_MODE = { capabilities: { elicitation: { url: {} } } } as const
const ARGS = '{"order":"o-1", "currency":"EUR", "amount":"150.00"}'
const refund = (options: MessageOptions = {}, args = ARGS): Message =>
  message('tools/call', 'create_refund', args, options)

type Result = {
  readonly resultType?: string
  readonly requestState?: string
  readonly inputRequests?: { readonly [key: string]: { readonly params: { readonly url: string } } }
  readonly isError?: boolean
  readonly content?: readonly { readonly text: string }[]
}
const resultOf = (text: string): Result => (JSON.parse(text) as { result: Result }).result
const codeOf = (text: string): unknown => problemIn(text)?.code ?? null
const stateOf = (value: object): string =>
  `dev.capsulegate.${Buffer.from(JSON.stringify(value)).toString('base64url')}`
const resumed = (state: string, ...more: string[]): MessageOptions => ({
  ...URL_MODE,
  more: [`"requestState":${JSON.stringify(state)}`, ...more],
})

describe.each(Object.entries(MOUNTS))('waiting for a person through %s', (_, open) => {
  let time: FakeTime
  let server: Scripted
  let at: Awaited<ReturnType<typeof overMcp>>
  const start = async (manifest = MANIFEST): Promise<void> => {
    time = fakeTime()
    server = await scripted()
    const front = { sendNothing: () => undefined, open: (gate: RunningGate) => open(gate, server) }
    at = await overMcp(time, { manifest, policies: POLICIES }, server, front)
  }
  beforeEach(() => start())
  afterEach(() => at.close())

  const ask = (sent: Message): Promise<string> => at.clients.ask(sent, 'support-bot')
  async function opened(): Promise<string> {
    const [approval, ...others] = await at.gate.parts.state.approvals()
    expect(others).toEqual([])
    return String(approval?.approvalId)
  }
  async function approve(approvalId: string): Promise<void> {
    const approval = await at.gate.parts.state.approval(approvalId)
    const documentDigest = approval?.documentDigest ?? ''
    const decider = person('alice')
    const outcome = { kind: 'approve' } as const
    const done = await at.gate.resolve({ approvalId, documentDigest, decider, outcome })
    expect(done).toMatchObject({ kind: 'recorded', state: 'approved' })
  }
  /** A retry waits for the decision; nobody takes one. */
  async function inVain(sent: Message): Promise<string> {
    const reply = ask(sent)
    while (time.waiting() !== 3) await new Promise((resolve) => setImmediate(resolve))
    time.advance(20)
    return reply
  }
  const verdicts = async (): Promise<unknown[]> =>
    (await at.capsules()).map(({ capsule }) => capsule.disposition.verdict_class)

  it('gives the page of a person, and the retry is the same request, once', async () => {
    const asked = resultOf(await ask(refund(URL_MODE)))
    const id = await opened()
    const urls = Object.values(asked.inputRequests ?? {}).map(({ params }) => params.url)
    expect([asked.resultType, asked.isError]).toEqual(['input_required', undefined])
    expect(urls).toEqual([LINK(id)])
    const state = String(asked.requestState)
    await approve(id)
    const approval = await at.gate.parts.state.approval(id)
    const done = await ask(refund(resumed(state)))
    expect(resultOf(done).content).toEqual([{ type: 'text', text: server.text }])
    // The server gets the approved octets, and nothing of the way they took.
    const [call] = server.calls
    expect(call?.params).toEqual({
      name: 'create_refund',
      arguments: JSON.parse(ARGS),
      _meta: expect.not.objectContaining({ [`${OWN}approval`]: expect.anything() }),
    })
    const last = (await at.capsules()).at(-1)?.capsule
    expect(last?.disposition).toMatchObject({ approver: 'human', human_disposed: true })
    expect(last?.effect).toMatchObject({ request_digest: approval?.requestDigest })
    expect(codeOf(await ask(refund(resumed(state))))).toBe('approval_closed')
    expect(server.calls).toHaveLength(1)
  })

  it('gives it also where the agent itself demands a person, and commits its intent once', async () => {
    await at.close()
    await start(MANIFEST.replace('    irreversibility', '    intent: required\n$&'))
    const claims = { cedar_actions: ['create_refund'], so_type: undefined }
    const steps = stepsOf(DECLARING, { claims, now: time.clock.now })
    const { mandate } = steps
    const of = (more = {}) => ({ intent: steps.standard('create_refund', more), mandate })
    const small = ARGS.replace('150.00', '50.00')
    const declared = of({ hem_urgency: 'REQUIRED' })
    const asked = resultOf(await ask(refund({ ...URL_MODE, declared }, small)))
    const id = await opened()
    expect(asked.resultType).toBe('input_required')
    const other = problemIn(await ask(refund({ declared: of() }, small.replace('50', '60'))))
    expect(other).toMatchObject({ code: 'session_pending', deny_code: 'HEM_PENDING' })
    await approve(id)
    const again = { ...resumed(String(asked.requestState)), declared }
    expect(resultOf(await ask(refund(again, small))).content).toEqual([
      { type: 'text', text: server.text },
    ])
    expect(server.calls).toHaveLength(1)
    const types: string[] = []
    for await (const { type } of at.gate.data.journal.lines()) types.push(type)
    expect(types.filter((type) => type === 'IDP_SUBMITTED')).toHaveLength(2)
    expect(types.filter((type) => type === 'IDP_COMMITMENT_VERIFIED')).toHaveLength(1)
  })

  it('tells a denied model in text what it may do instead', async () => {
    await at.close()
    await start(MANIFEST.replace('    irreversibility', '    intent: required\n$&'))
    const claims = { cedar_actions: ['create_refund'], so_type: undefined }
    const steps = stepsOf(DECLARING, { claims, now: time.clock.now })
    const declared = { intent: steps.standard('create_refund'), mandate: steps.mandate }
    const denied = await ask(refund({ declared }, ARGS.replace('EUR', 'USD').replace('150', '50')))
    expect(problemIn(denied)).toMatchObject({ code: 'policy_denied', hem_available: true })
    const [said, instead] = resultOf(denied).content ?? []
    expect(said?.text).toBe(problemIn(denied)?.detail)
    expect(JSON.parse(instead?.text ?? '')).toEqual({
      deny_code: 'POLICY_DENY',
      available_actions: [],
      suggested_paths: [],
      hem_available: true,
    })
  })

  it('takes no answer of a form for a decision', async () => {
    const state = String(resultOf(await ask(refund(URL_MODE))).requestState)
    const answers = [
      '{"dev_capsulegate_approval":{"action":"accept"}}',
      '{"dev_capsulegate_approval":{"action":"accept","content":{"approved":true}}}',
    ]
    for (const given of answers) {
      const told = resultOf(await inVain(refund(resumed(state, `"inputResponses":${given}`))))
      // Asked for nothing more: the client comes back by itself.
      expect(told).toMatchObject({ resultType: 'input_required', requestState: state })
      expect(told.inputRequests).toBeUndefined()
    }
    expect(server.calls).toEqual([])
    expect(await verdicts()).toEqual(['hitl_dispatched'])
    const approval = await at.gate.parts.state.approval(await opened())
    expect(approval?.state.kind).toBe('pending')
  })

  it('sends no other octets for a forged state', async () => {
    await ask(refund(URL_MODE))
    const id = await opened()
    await approve(id)
    const task = '"task":{"ttl":1}'
    const other = ARGS.replace('150.00', '151.00')
    const forged: readonly (readonly [Message, unknown])[] = [
      [refund(resumed(stateOf({ approval: id, more: task }))), 'approval_mismatch'],
      [
        refund(resumed(stateOf({ approval: id, more: '"inputResponses":{}' }))),
        'approval_mismatch',
      ],
      [refund(resumed(stateOf({ approval: id, more: '' })), other), 'approval_mismatch'],
      [refund(resumed(stateOf({ approval: 'no-such', more: '' }))), 'approval_closed'],
    ]
    for (const [sent, code] of forged) expect(codeOf(await ask(sent))).toBe(code)
    // What is no state of the gate's is the server's own, and makes it another call, about which is asked anew.
    const theirs = [
      stateOf({ approval: id, more: '"name":"close"' }),
      stateOf({ approval: id, more: '"task":{}},"name":"close","x":{' }),
      stateOf({ approval: id, more: '"task":{},"task":{}' }),
      stateOf({ approval: id }),
      'dev.capsulegate.%%%',
      'dev.capsulegate.',
    ]
    for (const state of theirs) {
      expect(resultOf(await ask(refund(resumed(state))))).toMatchObject({
        resultType: 'input_required',
        inputRequests: expect.anything(),
      })
    }
    // Another agent's.
    const stolen = await at.clients.ask(
      refund(resumed(stateOf({ approval: id, more: '' }))),
      'other-bot',
    )
    expect(codeOf(stolen)).toBe('approval_closed')
    expect(server.calls).toEqual([])
    // The grant is still what it was.
    const mine = await ask(refund(resumed(stateOf({ approval: id, more: '' }))))
    expect(resultOf(mine).isError).toBeUndefined()
    expect(server.calls).toHaveLength(1)
  })

  it('keeps what the call had beside its arguments, through the wait', async () => {
    const task = '"task":{"ttl":60000}'
    const asked = resultOf(await ask(refund({ ...URL_MODE, more: [task] })))
    await approve(await opened())
    await ask(refund(resumed(String(asked.requestState))))
    expect(server.calls.map(({ params }) => params?.task)).toEqual([{ ttl: 60000 }])
  })

  it('tells a client that cannot open pages to call again', async () => {
    for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }]) {
      const told = await ask(refund({ capabilities }))
      const { isError, content } = resultOf(told)
      expect([isError, codeOf(told)]).toEqual([true, 'approval_pending'])
      expect(content?.[0]?.text).toContain('send the identical call again once it is approved')
      expect(content?.[0]?.text).toContain(LINK(await opened()))
    }
    await approve(await opened())
    expect(codeOf(await ask(refund()))).toBeNull()
    expect(server.calls).toHaveLength(1)
  })

  it('tells a client of 2025-11-25 by the error that names the page', async () => {
    const asLegacy = { era: 'legacy' } as const
    const call = await at.clients.initialized('2025-11-25', { elicitation: { url: {} } })
    const told = JSON.parse(await call(refund(asLegacy)))
    const id = await opened()
    expect(told.error).toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', url: LINK(id), elicitationId: id }] },
    })
    await approve(id)
    const done = await call(refund(asLegacy))
    expect(resultOf(done).content).toEqual([{ type: 'text', text: server.text }])
    expect(server.calls).toHaveLength(1)
  })

  it.each([
    ['2025-11-25', { elicitation: {} }],
    ['2025-06-18', { elicitation: { url: {} } }],
  ])('tells a client of %s with %j to call again', async (version, capabilities) => {
    const call = await at.clients.initialized(version, capabilities)
    const told = await call(refund({ era: 'legacy' }))
    expect(resultOf(told)).toMatchObject({ isError: true })
    expect(codeOf(told)).toBe('approval_pending')
    await approve(await opened())
    expect(codeOf(await call(refund({ era: 'legacy' })))).toBeNull()
    expect(server.calls).toHaveLength(1)
  })

  it('runs it by itself where the rule says so, for its agent to collect', async () => {
    await at.close()
    await start(`${MANIFEST}    hitl: {on_approval: dispatch}\n`)
    await ask(refund())
    const id = await opened()
    const concluded = new Promise<void>((resolve) => {
      const stop = at.gate.data.subscribe(({ type }) => {
        if (type !== 'CAPSULE') return
        stop()
        resolve()
      })
    })
    const collect = (as: 'support-bot' | 'other-bot'): Promise<string> =>
      at.clients.ask(
        message(`${OWN}actions/result`, '', null, { more: [`"action_id":"${id}"`] }),
        as,
      )
    expect(JSON.parse(await collect('support-bot')).error).toMatchObject({ code: -32602 })
    await approve(id)
    await concluded
    for (const text of [await collect('support-bot'), await collect('support-bot')]) {
      expect(resultOf(text).content).toEqual([{ type: 'text', text: server.text }])
    }
    expect(JSON.parse(await collect('other-bot')).error).toMatchObject({ code: -32602 })
    expect(server.calls).toHaveLength(1)
    expect(server.calls[0]?.params?.arguments).toEqual(JSON.parse(ARGS))
    expect(await verdicts()).toEqual(['hitl_dispatched', 'executed'])
  })
})
