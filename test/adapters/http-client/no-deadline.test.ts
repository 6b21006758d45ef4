import { expect, it, jest } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { rawUpstream } from '../../support/raw-upstream.js'
import { ALLOWED, collector, RULE, request, sent } from './harness.js'

it('a response without a deadline sleeps, and does not wake all the time', async () => {
  const server = await rawUpstream(async (peer) => {
    await peer.request()
    await peer.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n')
  })
  const upstream = createUpstream({ name: 'tool', origin: server.origin })
  const timers = jest.spyOn(globalThis, 'setTimeout')
  const none = Number.POSITIVE_INFINITY
  const rule = { ...RULE, deadlines: { connect_ms: 1000, first_byte_ms: none, total_ms: none } }
  const leaving = new AbortController()
  const sink = collector()
  const seen = upstream.send(request(), rule, sink, { ...ALLOWED, signal: leaving.signal })
  while (sink.body().length === 0) await new Promise((resolve) => setImmediate(resolve))
  leaving.abort()
  expect(sent(await seen)).toMatchObject({ cause: 'aborted', deadline: false })
  // A longer timer would come at once, and then again and again.
  const longest = Math.max(...timers.mock.calls.map(([, ms]) => ms ?? 0))
  expect(longest).toBe(2 ** 31 - 1)
  timers.mockRestore()
  await upstream.close()
  await server.close()
})
