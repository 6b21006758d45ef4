import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import { executedAction } from '../../../src/core/call/executed.js'
import type { ToolRule } from '../../../src/core/manifest/model.js'
import { match } from '../../../src/core/manifest/route/match.js'
import { createMemory, DEFAULT_MEMORY } from '../../../src/gate/memory.js'
import { Release } from '../../../src/mounts/http/hold-and-release.js'
import { holdFor } from '../../../src/mounts/http/hold-terms.js'
import { NOWHERE } from '../../../src/mounts/http/outlet.js'
import { relay } from '../../../src/mounts/http/relay.js'
import type { Dispatched } from '../../../src/ports/dispatch.js'
import type { OutgoingRequest, Upstream } from '../../../src/ports/upstream.js'
import { alteringUpstream } from '../../support/altering.js'
import { httpCall, PAYMENTS, routed, routerOf } from '../../support/manifests.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'

const ROUTER = routerOf(PAYMENTS)
const CALL = routed(
  httpCall('POST', '/v1/refunds', { order: 'o-1', currency: 'EUR', amount: '5.00' }),
)
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

let server: RawUpstream | null = null
let upstream: Upstream | null = null
afterEach(async () => {
  await upstream?.close()
  await server?.close()
})

const found = match(ROUTER, CALL)
if (!found.ok) throw new Error(found.detail)
const RULE: ToolRule = found.route.rule
const GOVERNED: ToolRule = { ...RULE, intent: 'required' }

type More = {
  readonly alter?: (request: OutgoingRequest) => OutgoingRequest
  readonly stillAllowed?: () => boolean
}
async function dispatched(rule: ToolRule, { alter, stillAllowed }: More = {}): Promise<Dispatched> {
  server = await rawUpstream(answering(OK))
  const { origin } = server
  upstream = createUpstream({ name: 'default', origin })
  const to = alter === undefined ? upstream : alteringUpstream(upstream, alter)
  const memory = createMemory(DEFAULT_MEMORY)
  const { dispatch } = relay(
    (_, visible) => {
      const hold = holdFor({ holdLimit: 1024, holdAll: false }, memory)
      return hold === null ? null : new Release(NOWHERE, hold, visible)
    },
    { upstreams: new Map([['default', { upstream: to, origin, deadlines: {} }]]) },
  )
  const yes = (): boolean => true
  const order = { actionId: 'a', call: CALL, stillAllowed: stillAllowed ?? yes, saltedDigest: null }
  return dispatch({ ...order, rule })
}
const executed = ({ wrote }: Dispatched): string | null => {
  if (wrote === undefined) throw new Error('it does not say what it wrote')
  return executedAction(wrote, { call: CALL, rule: GOVERNED, router: ROUTER })
}

describe('what a relayed call says that was written', () => {
  it('is what the upstream received, and has the action that was judged', async () => {
    const left = await dispatched(GOVERNED)
    expect(left.observation.kind).toBe('complete')
    const { head, body } = server?.requests[0] ?? { head: '', body: Buffer.alloc(0) }
    expect(left.wrote).toEqual({ kind: 'http', head: `${head}\r\n\r\n`, body: expect.anything() })
    expect(left.wrote?.kind === 'http' && body.equals(left.wrote.body)).toBe(true)
    expect(executed(left)).toBe('create_refund')
  })

  it('is not asked for where the rule wants no intent', async () => {
    const left = await dispatched(RULE)
    expect(left.observation.kind).toBe('complete')
    expect(left).not.toHaveProperty('wrote')
  })

  it('is absent where nothing left', async () => {
    const left = await dispatched(GOVERNED, { stillAllowed: () => false })
    expect(left.observation).toMatchObject({ kind: 'not_sent', cause: 'withdrawn' })
    expect(left).not.toHaveProperty('wrote')
    expect(server?.requests).toEqual([])
  })

  it.each<readonly [string, (request: OutgoingRequest) => OutgoingRequest]>([
    [
      'another amount',
      (r) => ({ ...r, body: utf8('{"order":"o-1","currency":"EUR","amount":"9"}') }),
    ],
    ['another method', (r) => ({ ...r, method: 'PUT' })],
    ['another path', (r) => ({ ...r, target: '/v1/payouts' })],
    ['a query', (r) => ({ ...r, target: `${r.target}?x=1` })],
    ['a content-type', (r) => ({ ...r, headers: [['content-type', 'text/plain']] })],
  ])('tells that behind the judgement it was altered: %s', async (_, alter) => {
    const left = await dispatched(GOVERNED, { alter })
    expect(left.observation.kind).toBe('complete')
    expect(server?.requests).toHaveLength(1)
    expect(executed(left)).toBeNull()
  })
})
