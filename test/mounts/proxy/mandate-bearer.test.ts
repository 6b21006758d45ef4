import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AUTHORITY, LOCALHOST } from '../../support/certificates.js'
import {
  claims,
  issuerWith,
  type Key,
  makeKey,
  signMandate,
  signProof,
} from '../../support/mandates.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import {
  AUTH,
  parseAnswer,
  post,
  rawClient,
  rawClientOn,
  type Stand,
  startStand,
} from './harness.js'

/** A bearer token that is a mandate, over sockets: what proves possession is read from the real request. */
let key: Key
let held: Key
let upstream: RawUpstream
let stand: Stand
let secured: Stand
const ACTIONS = ['put_file', 'read_file']
const now = (): number => Math.floor(Date.now() / 1000)
const mandate = (cnf?: object) =>
  signMandate(
    key,
    claims({
      sub: 'bot',
      exp: now() + 600,
      cedar_actions: ACTIONS,
      ...(cnf === undefined ? {} : { cnf }),
    }),
  )
const request = (token: string, more = '') =>
  post('/files/a?q=1', 'body').replace(AUTH, `authorization: Bearer ${token}\r\n${more}`)

beforeAll(async () => {
  key = await makeKey('k1')
  held = await makeKey('own', 'ES256')
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  const identity = { mandates: { issuers: [issuerWith([key])], agents: new Map() } }
  const options = { upstream: upstream.origin, identity }
  stand = await startStand(options)
  secured = await startStand({ ...options, tls: { ...LOCALHOST, clientCa: AUTHORITY } })
})
afterAll(async () => {
  await stand.close()
  await secured.close()
  await upstream.close()
})
async function status(bytes: string): Promise<number> {
  const raw = await rawClient(stand.port)
  raw.send(bytes)
  return parseAnswer(await raw.closed()).status
}

describe('a mandate as bearer token', () => {
  it('lets its agent in, and another one nobody', async () => {
    expect(await status(request(await mandate()))).toBe(200)
    expect((await stand.capsules()).at(-1)?.developer).toBe('bot')
    expect(await status(request(await signMandate(held, claims({ sub: 'bot' }))))).toBe(401)
  })

  it('that was revoked is no credential for what it did before either', async () => {
    const token = await signMandate(
      key,
      claims({ sub: 'bot', jti: 'taken', exp: now() + 600, cedar_actions: ACTIONS }),
    )
    const raw = await rawClient(stand.port)
    raw.send(request(token))
    const id = parseAnswer(await raw.closed()).headers.get('gate-action')
    const head = (method: string, path: string) =>
      request(token)
        .replace('POST /files/a?q=1', `${method} /.gate/v1/actions/${id}${path}`)
        .replace(/content-length: .*\r\n/i, '')
        .replace(/\r\n\r\nbody$/, '\r\n\r\n')
    expect(await status(head('GET', ''))).toBe(200)
    await stand.gate.revokeMandate('taken', 'test')
    expect(await status(head('GET', ''))).toBe(403)
    expect(await status(head('GET', '/result'))).toBe(403)
    expect(await status(head('DELETE', ''))).toBe(403)
    expect(await status(request(token))).toBe(403)
  })

  it('bound to a key takes one proof for one request; neither goes on to the upstream', async () => {
    const token = await mandate({ jkt: held.thumbprint })
    const host = /host: (.+)\r\n/i.exec(request(token))?.[1]
    const proof = (said: object) =>
      signProof(held, token, { htm: 'POST', htu: `http://${host}/files/a`, iat: now(), ...said })
    expect(await status(request(token))).toBe(401)
    const good = `DPoP: ${await proof({})}\r\n`
    expect(await status(request(token, good))).toBe(200)
    expect(upstream.requests.at(-1)?.head).not.toMatch(/dpop|authorization/i)
    expect(await status(request(token, good))).toBe(401)
    for (const said of [{ htm: 'GET' }, { htu: `http://${host}/files/b` }, { iat: now() - 90 }]) {
      expect(await status(request(token, `DPoP: ${await proof(said)}\r\n`))).toBe(401)
    }
    const twice = `DPoP: ${await proof({})}\r\nDPoP: ${await proof({})}\r\n`
    expect(await status(request(token, twice))).toBe(400)
  })

  it('bound to a client certificate is for the connection of its holder', async () => {
    const thumbprint = new X509Certificate(LOCALHOST.cert).fingerprint256.replaceAll(':', '')
    const token = await mandate({
      'x5t#S256': Buffer.from(thumbprint, 'hex').toString('base64url'),
    })
    const ask = async (client: object): Promise<number> => {
      const socket = connect({
        port: secured.port,
        host: '127.0.0.1',
        ca: AUTHORITY,
        checkServerIdentity: () => undefined,
        ...client,
      })
      await new Promise((resolve, reject) =>
        socket.once('secureConnect', resolve).once('error', reject),
      )
      const raw = rawClientOn(socket)
      raw.send(request(token))
      return parseAnswer(await raw.closed()).status
    }
    expect(await ask(LOCALHOST)).toBe(200)
    expect(await ask({})).toBe(401)
    expect(await status(request(token))).toBe(401)
  })
})
