import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose'
import { type AgentRecord, createIdentity } from '../../src/adapters/identity/identity.js'
import type { JwtIssuer } from '../../src/adapters/identity/jwt.js'
import { hashToken } from '../../src/adapters/identity/tokens.js'
import type { Seam } from '../../src/gate/context.js'
import type { EvidencePart } from '../../src/ports/evidence.js'
import type { Identified } from '../../src/ports/identity.js'
import {
  ask,
  get,
  OTHER_TOKEN,
  type RawAnswer,
  type Stand,
  type StandOptions,
  startStand,
  TOKEN,
} from '../mounts/proxy/harness.js'
import { approvalOf, decide, person, tool } from '../support/approvals.js'
import { answering, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'
import { TOKEN as RIG_TOKEN, type Rig, refund, rig } from '../support/rig.js'

/** A credential that is taken away stops what was asked under it, up to the first byte. */
const record = (agent: string, roles: readonly string[] = []): AgentRecord => ({
  agent,
  roles,
  developer: `${agent}/1`,
})

describe('a call that was judged and not yet sent', () => {
  let upstream: RawUpstream
  let stand: Stand
  let stop: Promise<void>
  let goOn: () => void
  let waiting: (() => void)[]
  let arrived: number
  beforeEach(async () => {
    arrived = 0
    waiting = []
    stop = new Promise((resolve) => {
      goOn = resolve
    })
    upstream = await rawUpstream(
      answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'),
    )
  })
  afterEach(async () => {
    await stand.close()
    await upstream.close()
  })
  const seam = async (name: Seam): Promise<void> => {
    if (name !== 'before_first_byte') return
    arrived++
    for (const tell of waiting.splice(0)) tell()
    await stop
  }
  /** Sends both, takes something away when both are about to leave, and gives both answers. */
  async function both(
    options: Partial<StandOptions>,
    requests: readonly [string, string],
    revoke: () => void,
  ): Promise<readonly RawAnswer[]> {
    stand = await startStand({ upstream: upstream.origin, seam, ...options })
    const answers = Promise.all(requests.map((request) => ask(stand.port, request)))
    while (arrived < 2) await new Promise<void>((resolve) => waiting.push(resolve))
    revoke()
    goOn()
    return answers
  }
  async function expectOnlyTheFirstStopped(answers: readonly RawAnswer[]): Promise<void> {
    expect(answers.map(({ status }) => status)).toEqual([503, 200])
    expect(JSON.parse(answers[0]?.body.toString() ?? '')).toMatchObject({
      code: 'judgement_stale',
      dispatched: false,
    })
    expect(upstream.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/files/b'])
    expect(await stand.capsules()).toHaveLength(2)
  }
  const asOther = get('/files/b').replace(TOKEN, OTHER_TOKEN)

  it('stops when its token is revoked; calls of other agents go on', async () => {
    const tokens = new Map([
      [hashToken(TOKEN), record('bot')],
      [hashToken(OTHER_TOKEN), record('other')],
    ])
    const answers = await both(
      { identity: { tokens: () => tokens } },
      [get('/files/a'), asOther],
      () => tokens.delete(hashToken(TOKEN)),
    )
    await expectOnlyTheFirstStopped(answers)
  })

  it('stops when its agent lost a role it was judged with', async () => {
    const tokens = new Map([
      [hashToken(TOKEN), record('bot', ['payer'])],
      [hashToken(OTHER_TOKEN), record('other', ['payer'])],
    ])
    const answers = await both(
      { identity: { tokens: () => tokens } },
      [get('/files/a'), asOther],
      () => tokens.set(hashToken(TOKEN), record('bot')),
    )
    await expectOnlyTheFirstStopped(answers)
  })

  describe('under a JWT', () => {
    let set: JSONWebKeySet
    let token: string
    beforeAll(async () => {
      const { privateKey, publicKey } = await generateKeyPair('EdDSA')
      set = { keys: [{ ...(await exportJWK(publicKey)), alg: 'EdDSA' }] }
      token = await new SignJWT({ sub: 'bot' })
        .setProtectedHeader({ alg: 'EdDSA' })
        .setIssuer('https://idp.test')
        .setAudience('gate')
        .setExpirationTime('1h')
        .sign(privateKey)
    })
    it('stops when its issuer is removed', async () => {
      const issuers: JwtIssuer[] = [
        {
          issuer: 'https://idp.test',
          audience: 'gate',
          jwks: { kind: 'static', set },
          agentClaim: 'sub',
          rolesClaim: 'roles',
          developerClaim: null,
        },
      ]
      const signed = get('/files/a').replace(TOKEN, token)
      const answers = await both({ identity: { issuers } }, [signed, asOther], () => issuers.pop())
      await expectOnlyTheFirstStopped(answers)
    })
  })
})

describe('what isStillKnown says', () => {
  const known = (found: Identified | Promise<Identified>) =>
    found as Extract<Identified, { kind: 'known' }>
  const caller = { bearer: null, certificate: null, asserted: null, source: '' }
  const certificates = new Map([['CN=bot', record('bot')]])
  const tokens = new Map([[hashToken('t'), record('bot')]])
  const options = { tokens: () => tokens, issuers: [], certificates, anonymous: true }
  const { identify, isStillKnown } = createIdentity(options)

  it('of a certificate: no, once nothing is mapped to it; and both credentials must hold', () => {
    const one = known(identify({ ...caller, certificate: 'CN=bot' }))
    const two = known(identify({ ...caller, certificate: 'CN=bot', bearer: 't' }))
    expect([isStillKnown(one), isStillKnown(two)]).toEqual([true, true])
    certificates.delete('CN=bot')
    expect([isStillKnown(one), isStillKnown(two)]).toEqual([false, false])
  })

  it('of those the application vouches for, and of anonymity where it is let in: yes', () => {
    expect(isStillKnown(known(identify({ ...caller, asserted: 'a' })))).toBe(true)
    const nobody = known(identify(caller))
    expect(isStillKnown(nobody)).toBe(true)
    expect(createIdentity({ ...options, anonymous: false }).isStillKnown(nobody)).toBe(false)
  })

  it('of a name alone: whether a token or a certificate names it with all its roles', () => {
    const { by: _, ...named } = known(identify({ ...caller, bearer: 't' }))
    expect(isStillKnown(named)).toBe(true)
    expect(isStillKnown({ ...named, roles: ['r'] })).toBe(false)
    expect(isStillKnown({ ...named, agent: 'nobody' })).toBe(false)
  })
})

describe('a frozen call that was approved', () => {
  const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    hitl: {on_approval: dispatch}
`
  let at: Rig
  let tokens: Map<string, AgentRecord>
  const sha = hashToken(RIG_TOKEN)
  beforeEach(async () => {
    tokens = new Map([[sha, record('support-bot', ['payer'])]])
    at = await rig({
      manifest: MANIFEST,
      identity: { tokens: () => tokens, issuers: [], certificates: new Map(), anonymous: false },
    })
  })
  afterEach(() => at.close())

  async function approved(): Promise<string> {
    const answer = await at.gate.govern(refund('150.00'), tool().dispatch)
    if (answer.kind !== 'pending') throw new Error('not asked')
    await decide(at.gate, answer.actionId, person('alice'), { kind: 'approve' })
    return answer.actionId
  }
  /** Registers a way to send, waits until all that was started is over, and tells what was sent. */
  async function run(): Promise<readonly string[]> {
    const { sent, dispatch } = tool()
    await at.gate.dispatchApproved(() => dispatch)
    await at.gate.stop()
    return sent
  }

  it('is sent when its agent renewed its token', async () => {
    await approved()
    tokens.delete(sha)
    tokens.set(hashToken('new'), record('support-bot', ['payer', 'more']))
    expect(await run()).toHaveLength(1)
  })

  it.each([
    ['its agent is gone', () => tokens.delete(sha)],
    ['its agent lost a role', () => tokens.set(sha, record('support-bot'))],
    ['its token is another agent’s now', () => tokens.set(sha, record('other', ['payer']))],
  ])(
    'ends in a capsule that closes the item when %s, also after a restart',
    async (_why, revoke) => {
      const id = await approved()
      revoke()
      at = await at.restart()
      const before = (await at.capsules()).length
      expect(await run()).toEqual([])
      const written = (await at.capsules()).slice(before)
      expect(written).toHaveLength(1)
      expect(written[0]?.capsule.disposition.verdict_class).toBe('denied')
      expect((await approvalOf(at.gate, id)).state).toMatchObject({
        kind: 'closed',
        capsuleId: written[0]?.capsule.capsule_id,
      })
      // Closed: a further start does not try again.
      at = await at.restart()
      const now = (await at.capsules()).length
      expect(await run()).toEqual([])
      expect(await at.capsules()).toHaveLength(now)
    },
  )

  it('keeps no credential with the frozen call, so that calls frozen without any thaw the same way', async () => {
    const id = await approved()
    const found = await at.gate.data.evidence.byAction(id)
    if (found.state !== 'present') throw new Error(found.state)
    const frozen = ({ kind, name }: EvidencePart): boolean => kind === 'frozen' && name === 'head'
    const head = Buffer.from(found.value.find(frozen)?.bytes ?? []).toString()
    expect(JSON.parse(head).agent).toEqual({
      kind: 'known',
      agent: 'support-bot',
      roles: ['payer'],
      developer: 'support-bot/1',
    })
    expect(head).not.toContain(sha)
    expect(await run()).toHaveLength(1)
  })
})
