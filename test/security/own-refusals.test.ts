import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { hashToken } from '../../src/adapters/identity/tokens.js'
import {
  ask,
  get,
  JSON_TYPE,
  OTHER_TOKEN,
  post,
  type Stand,
  startStand,
  TOKEN,
} from '../mounts/proxy/harness.js'
import { forgedEntry } from '../support/lines.js'
import { answering, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/** Two agents of one developer: the developer's name opens nothing. */
let upstream: RawUpstream
let stand: Stand
beforeAll(async () => {
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  const agent = (name: string) => ({ agent: name, roles: [], developer: 'shared/1' })
  const tokens = new Map([
    [hashToken(TOKEN), agent('bot')],
    [hashToken(OTHER_TOKEN), agent('other')],
  ])
  stand = await startStand({ upstream: upstream.origin, identity: { tokens: () => tokens } })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})
const status = (id: string, token = TOKEN) =>
  ask(stand.port, get(`/.gate/v1/actions/${id}`).replace(TOKEN, token))
const lineOf = async (id: string) =>
  (await stand.lines()).find(
    (line) => line.type === 'CAPSULE' && (line.capsule as { action_id: string }).action_id === id,
  )

it.each([
  ['blocked by a constraint', post('/pay', '{"amount":"501"}', JSON_TYPE), true],
  ['for a path that nothing matches', get('/nowhere'), false],
])('a refusal %s is its own agent’s to read, and nobody else’s', async (_why, request, matched) => {
  const refused = await ask(stand.port, request)
  expect(refused.status).toBe(403)
  const id = refused.headers.get('gate-action') ?? ''
  const own = await status(id)
  expect(own.status).toBe(200)
  expect(JSON.parse(own.body.toString())).toMatchObject({ action_id: id, state: 'concluded' })
  expect((await status(id, OTHER_TOKEN)).status).toBe(404)
  const about = (await lineOf(id))?.about
  expect(about).toEqual(
    matched
      ? { agent: 'bot', tool: 'pay', request_digest: expect.stringMatching(/^[0-9a-f]{64}$/) }
      : { agent: 'bot' },
  )
})

it('a stranger’s refusal says nothing about anybody and can be read by nobody', async () => {
  const refused = await ask(stand.port, get('/files/a').replace(TOKEN, 'wrong'))
  const id = refused.headers.get('gate-action') ?? ''
  expect(await lineOf(id)).not.toHaveProperty('about')
  expect((await status(id)).status).toBe(404)
})

it('an executed call’s line says nothing twice: its dispatch line names the agent', async () => {
  const done = await ask(stand.port, get('/files/a'))
  const id = done.headers.get('gate-action') ?? ''
  expect(await lineOf(id)).not.toHaveProperty('about')
  expect((await status(id)).status).toBe(200)
  expect((await status(id, OTHER_TOKEN)).status).toBe(404)
})

it('a refusal written before lines said whose it was is a 404 for everyone', async () => {
  const refused = await ask(stand.port, get('/nowhere'))
  const line = await lineOf(refused.headers.get('gate-action') ?? '')
  if (line === undefined) throw new Error('no line')
  const { capsule, statement, protected: header, signature } = line
  const old = {
    statement,
    capsule: { ...(capsule as object), action_id: '0193a5c0-0000-7000-8000-00000000abcd' },
    protected: header,
    signature,
  }
  await stand.gate.data.journal.append([forgedEntry('CAPSULE', old)])
  expect((await status('0193a5c0-0000-7000-8000-00000000abcd')).status).toBe(404)
})
