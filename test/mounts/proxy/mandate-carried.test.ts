import { randomUUID, X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import { expect, it } from '@jest/globals'
import { AUTHORITY, LOCALHOST } from '../../support/certificates.js'
import { claims, issuerWith, makeKey, OBJECT, signMandate } from '../../support/mandates.js'
import { answering, rawUpstream } from '../../support/raw-upstream.js'
import { parseAnswer, rawClientOn, startStand } from './harness.js'

const MANIFEST = `id: com.acme.echo
tools:
  read_file:
    match: GET /files/{name}
    intent: required
`

it('a mandate in the body of a transition is proved by the certificate of its connection', async () => {
  const key = await makeKey('k1')
  const upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  const stand = await startStand({
    upstream: upstream.origin,
    manifest: MANIFEST,
    certificates: new Map([['CN=localhost', 'bot']]),
    identity: { mandates: { issuers: [issuerWith([key])], agents: new Map() } },
    tls: { ...LOCALHOST, clientCa: AUTHORITY },
  })
  const send = async (certificate: string): Promise<number> => {
    const mandate = await signMandate(
      key,
      claims({
        sub: 'bot',
        exp: Math.floor(Date.now() / 1000) + 600,
        cedar_actions: ['read_file'],
        cnf: { 'x5t#S256': certificate },
      }),
    )
    const intent = {
      idp_id: randomUUID(),
      session_id: 's',
      so_id: OBJECT,
      mandate_id: 'mandate-1',
      step_sequence: 1,
      requested_action: 'read_file',
      profile: 'IDP_THIN',
      timestamp: new Date().toISOString(),
    }
    const body = JSON.stringify({ intent, mandate, request: { method: 'GET', target: '/files/a' } })
    const socket = connect({
      port: stand.port,
      host: '127.0.0.1',
      ca: AUTHORITY,
      checkServerIdentity: () => undefined,
      ...LOCALHOST,
    })
    await new Promise((resolve, reject) =>
      socket.once('secureConnect', resolve).once('error', reject),
    )
    const raw = rawClientOn(socket)
    raw.send(
      `POST /.gate/v1/transition HTTP/1.1\r\nhost: localhost:${stand.port}\r\nconnection: close\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    return parseAnswer(await raw.closed()).status
  }
  try {
    const own = new X509Certificate(LOCALHOST.cert).fingerprint256.replaceAll(':', '')
    const another = '00'.repeat(32)
    expect(await send(Buffer.from(another, 'hex').toString('base64url'))).toBe(401)
    expect(await send(Buffer.from(own, 'hex').toString('base64url'))).toBe(200)
  } finally {
    await stand.close()
    await upstream.close()
  }
})
