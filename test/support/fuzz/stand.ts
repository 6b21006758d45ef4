import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import { DEFAULT_LIMITS } from '../../../src/mounts/proxy/options.js'
import { createProxy } from '../../../src/mounts/proxy/server.js'
import { ask } from '../../mounts/proxy/harness.js'
import { answering, rawUpstream } from '../raw-upstream.js'
import { parseRequest, type RawRequest } from '../readers/request.js'
import { rig, TOKEN } from '../rig.js'
import { type Driven, plainArgs } from './drive.js'

/** A whole gate between sockets, in front of an upstream that keeps the octets it is sent. */
export type FuzzStand = {
  send(request: RawRequest): Promise<Driven>
  close(): Promise<void>
}

const POLICY = `@id("all") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`

export async function fuzzStand(manifest: string): Promise<FuzzStand> {
  const upstream = await rawUpstream(answering('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  let judged: Omit<Extract<Driven, { kind: 'dispatched' }>, 'sent' | 'kind'> | null = null
  const at = await rig({
    manifest,
    policies: POLICY,
    concluding: (ending) => {
      if (ending.exit !== 'sent') return
      const { rule, args } = ending.known
      judged = { tool: rule.tool, args: plainArgs(args) }
    },
  })
  const client = createUpstream({ name: 'default', origin: upstream.origin })
  const proxy = createProxy({
    gate: at.gate,
    upstreams: new Map([['default', { upstream: client, origin: upstream.origin, deadlines: {} }]]),
    passThrough: [],
    limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: () => {},
  })
  const { port } = await proxy.listen(0, '127.0.0.1')
  return {
    async send({ method, target, headers, body }) {
      judged = null
      const before = upstream.requests.length
      const head = [
        `${method} ${target} HTTP/1.1`,
        'host: gate',
        'connection: close',
        `authorization: Bearer ${TOKEN}`,
        ...headers.map(([name, value]) => `${name}: ${value}`),
        ...(body.length > 0 ? [`content-length: ${body.length}`] : []),
      ].join('\r\n')
      const answer = await ask(port, Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]))
      const received = upstream.requests.slice(before)
      const [first, second] = received
      if (second !== undefined) throw new Error(`a second request arrived: ${second.head}`)
      if (first === undefined) return { kind: 'refused', code: String(answer.status) }
      if (judged === null) throw new Error('sent without a judgement')
      return {
        kind: 'dispatched',
        sent: parseRequest(first.head, first.body),
        ...(judged as Omit<Driven & { kind: 'dispatched' }, 'sent' | 'kind'>),
      }
    },
    async close() {
      await proxy.close(0)
      await client.close()
      await at.close()
      await upstream.close()
    },
  }
}
