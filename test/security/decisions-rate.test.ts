import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { approvalSources } from '../../src/app/admin.js'
import { type Detail, type Plane, startPlane, waiting } from '../mounts/approver/harness.js'

/** Anyone on the host can post to /v1/decisions: what it costs is bounded, and shuts nobody else out. */
const CHAT = `whsec_${randomBytes(24).toString('base64')}`
const TICKETS = `whsec_${randomBytes(24).toString('base64')}`
const LIMIT = 5
let plane: Plane
let item: Detail
let message = 0

beforeEach(async () => {
  const secret = (name: string) => ({ kind: 'env', name }) as const
  const machine = { asserts_people: false, people: {}, roles: ['approver'] }
  plane = await startPlane({
    sources: (tokens) =>
      approvalSources(
        {
          chat: { ...machine, secret: secret('CHAT') },
          tickets: { ...machine, secret: secret('TICKETS') },
        },
        tokens,
        { CHAT, TICKETS },
        LIMIT,
      ),
  })
  item = await waiting(plane)
})
afterEach(() => plane.close())

type Told = { readonly status: number; readonly retryAfter: string | undefined }
function deliver(
  source: string,
  { secret = CHAT, from = '127.0.0.1' }: { secret?: string; from?: string } = {},
): Promise<Told> {
  const id = `msg_${++message}`
  const at = new Date()
  const body = JSON.stringify({
    source,
    approval_id: item.approval_id,
    decision: 'deny',
    reason: 'no',
    digest: '0'.repeat(64),
  })
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers, localAddress: from, agent: false }
    request(`${plane.url}/v1/decisions`, options, (response) => {
      response.resume()
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'],
        }),
      )
    })
      .on('error', reject)
      .end(body)
  })
}
const many = async (count: number, send: () => Promise<Told>): Promise<number[]> => {
  const statuses: number[] = []
  for (let sent = 0; sent < count; sent++) statuses.push((await send()).status)
  return statuses
}
const FORGED = { secret: TICKETS }

describe('decisions from approval systems', () => {
  it('that are not signed get 429 with Retry-After above the limit of their address', async () => {
    expect(await many(LIMIT, () => deliver('chat', FORGED))).toEqual(Array(LIMIT).fill(401))
    const refused = await deliver('chat', FORGED)
    expect(refused.status).toBe(429)
    expect(Number(refused.retryAfter)).toBeGreaterThan(0)
  })

  it('naming sources that do not exist count as well', async () => {
    const statuses = await many(LIMIT + 1, () => deliver(`no-${message}`, FORGED))
    expect(statuses).toEqual([...Array(LIMIT).fill(401), 429])
  })

  it('that are signed get 429 above the limit of their source, and another source is still heard', async () => {
    expect(await many(LIMIT, () => deliver('chat'))).toEqual(Array(LIMIT).fill(409))
    const refused = await deliver('chat')
    expect([refused.status, Number(refused.retryAfter) > 0]).toEqual([429, true])
    expect((await deliver('tickets', { secret: TICKETS })).status).toBe(409)
  })

  it('that are signed do not count against their address', async () => {
    await many(LIMIT, () => deliver('chat'))
    await many(LIMIT, () => deliver('tickets', { secret: TICKETS }))
    expect(await many(LIMIT + 1, () => deliver('chat', FORGED))).toEqual([
      ...Array(LIMIT).fill(401),
      429,
    ])
  })

  it('forged in a source’s name from another address do not keep the source from being heard', async () => {
    const forged = await many(3 * LIMIT, () => deliver('chat', { ...FORGED, from: '127.0.0.2' }))
    expect(forged.filter((status) => status === 429)).toHaveLength(2 * LIMIT)
    expect((await deliver('chat')).status).toBe(409)
  })

  it('are refused above the limit before their body is read', async () => {
    await many(LIMIT, () => deliver('chat', FORGED))
    const { hostname, port } = new URL(plane.url)
    const socket = connect(Number(port), hostname)
    const answer = await new Promise<string>((resolve, reject) => {
      socket.on('data', (bytes) => resolve(String(bytes)))
      socket.on('error', reject)
      // A body is announced and never sent.
      socket.write(
        `POST /v1/decisions HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n`,
      )
    })
    socket.destroy()
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
  })

  it('do not use up what a person with a token may ask', async () => {
    await many(LIMIT + 1, () => deliver('chat', FORGED))
    const answered = await plane.ask('POST', `/v1/approvals/${item.approval_id}/decision`, {
      as: 'approver',
      body: { decision: 'approve', digest: item.document_digest },
    })
    expect(answered.status).toBe(200)
  })
})
