import { connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AUTHORITY, LOCALHOST, OTHER_NAME } from '../../support/certificates.js'
import { answering, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import {
  AUTH,
  get,
  OTHER_TOKEN,
  parseAnswer,
  rawClientOn,
  type Stand,
  startStand,
  TOKEN,
} from './harness.js'

let stand: Stand
let upstream: RawUpstream
beforeAll(async () => {
  upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  stand = await startStand({
    upstream: upstream.origin,
    tls: { ...LOCALHOST, clientCa: AUTHORITY },
    certificates: new Map([['CN=localhost', 'bot']]),
  })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})
type Credentials = { cert: string; key: string }

async function dial(client?: Credentials): Promise<TLSSocket> {
  const socket = connect({
    port: stand.port,
    host: '127.0.0.1',
    ca: AUTHORITY,
    checkServerIdentity: () => undefined,
    ...client,
  })
  await new Promise((resolve, reject) =>
    socket.once('secureConnect', resolve).once('error', reject),
  )
  return socket
}
async function ask(request: string, client?: Credentials) {
  const raw = rawClientOn(await dial(client))
  raw.send(request)
  return parseAnswer(await raw.closed())
}
const bare = get('/files/a').replace(AUTH, '')

describe('TLS', () => {
  it('takes the subject of a verified certificate for the caller, or a token without one', async () => {
    expect((await ask(bare, LOCALHOST)).status).toBe(200)
    expect((await ask(get('/files/a'))).status).toBe(200)
    expect((await ask(bare)).status).toBe(401)
    const [capsule] = await stand.capsules()
    expect(capsule?.developer).toBe('bot/1')
  })

  it('refuses a verified certificate that names nobody, and one that contradicts the token', async () => {
    expect((await ask(bare, OTHER_NAME)).status).toBe(401)
    expect((await ask(get('/files/a'), OTHER_NAME)).status).toBe(401)
    expect((await ask(get('/files/a').replace(TOKEN, OTHER_TOKEN), LOCALHOST)).status).toBe(401)
  })

  it('takes new certificates for new connections and leaves open ones alone', async () => {
    const before = await dial()
    expect(before.getPeerCertificate().subject.CN).toBe('localhost')
    stand.proxy.reloadTls({ ...OTHER_NAME, clientCa: AUTHORITY })
    const after = await dial()
    expect(after.getPeerCertificate().subject.CN).toBe('other.test')
    const raw = rawClientOn(before)
    raw.send(get('/files/a'))
    expect(parseAnswer(await raw.closed()).status).toBe(200)
    after.destroy()
    stand.proxy.reloadTls({ ...LOCALHOST, clientCa: AUTHORITY })
  })

  it('turns away a certificate of an authority it does not know, and never takes it for none', async () => {
    stand.proxy.reloadTls({ ...LOCALHOST, clientCa: OTHER_NAME.cert })
    const before = (await stand.capsules()).length
    const received = upstream.requests.length
    // With a good token behind it: the certificate alone ends the connection.
    const raw = await dial(LOCALHOST).then(rawClientOn, () => null)
    raw?.send(get('/files/a'))
    expect(raw === null ? '' : (await raw.closed()).toString()).toBe('')
    expect((await ask(get('/files/a'))).status).toBe(200)
    expect(await stand.capsules()).toHaveLength(before + 1)
    expect(upstream.requests.length - received).toBe(1)
    expect(stand.proxy.stats().dropped).toBe(1)
    stand.proxy.reloadTls({ ...LOCALHOST, clientCa: AUTHORITY })
  })
})
