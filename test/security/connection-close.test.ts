import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { AUTH, rawClient, type Stand, startStand } from '../mounts/proxy/harness.js'
import { answering, type RawUpstream, rawUpstream } from '../support/raw-upstream.js'

/** Behind a message that said it was the last, nothing is a request any more (RFC 9112 §9.6). */
let upstream: RawUpstream
let stand: Stand
beforeAll(async () => {
  upstream = await rawUpstream(
    answering('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'),
  )
  stand = await startStand({ upstream: upstream.origin })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})

const first = (version: string, headers: string): string =>
  `GET /files/first HTTP/${version}\r\nhost: g\r\n${AUTH}${headers}\r\n`
const second = `GET /files/second HTTP/1.1\r\nhost: g\r\n${AUTH}\r\n`

/** What the upstream got of both, the second sent with the first or once the first is answered. */
async function served(one: string, when: 'with it' | 'behind its answer'): Promise<string[]> {
  const before = upstream.requests.length
  const { capsules } = await stand.after(async () => {
    const client = await rawClient(stand.port)
    client.send(when === 'with it' ? one + second : one)
    if (when === 'behind its answer') {
      await client.until((bytes) => bytes.includes('\r\n\r\n'))
      client.send(second)
    }
    const answer = (await client.closed()).toString()
    expect(answer.match(/HTTP\/1\.[01] \d{3}/g)).toHaveLength(1)
  })
  expect(capsules).toHaveLength(1)
  return upstream.requests.slice(before).map(({ head }) => head.split(' ')[1] ?? '')
}

const WHEN = ['with it', 'behind its answer'] as const

it.each(WHEN)('a request that says close is the last: one sent %s is not taken', async (when) => {
  expect(await served(first('1.1', 'connection: close\r\n'), when)).toEqual(['/files/first'])
})

it.each(WHEN)('HTTP/1.0 without keep-alive is the last: one sent %s is not taken', async (when) => {
  expect(await served(first('1.0', ''), when)).toEqual(['/files/first'])
})

it('an answer that closes is the last: one pipelined behind an unreadable head is not served', async () => {
  const faulty = `GET /files/first HTTP/1.1\r\nhost: g\r\nhost: h\r\n${AUTH}\r\n`
  expect(await served(faulty, 'with it')).toEqual([])
})

it("a stranger's unread body is the last: the call hidden in it or behind it is not served", async () => {
  const stranger = 'POST /files/first HTTP/1.1\r\nhost: g\r\ncontent-length: 3\r\n\r\nabc'
  expect(await served(stranger, 'with it')).toEqual([])
})

it('without either, both are served in order', async () => {
  const client = await rawClient(stand.port)
  const before = upstream.requests.length
  client.send(first('1.1', '') + second.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
  await client.closed()
  const paths = upstream.requests.slice(before).map(({ head }) => head.split(' ')[1])
  expect(paths).toEqual(['/files/first', '/files/second'])
})
