import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import type { Outcome } from '../../src/gate/approval/decide/model.js'
import { DEFAULT_LIMITS } from '../../src/mounts/proxy/options.js'
import { createProxy } from '../../src/mounts/proxy/server.js'
import { ask } from '../mounts/proxy/harness.js'
import { decide, type FakeTime, fakeTime, person } from '../support/approvals.js'
import { listen } from '../support/listen.js'
import { type Rig, type RigOptions, rig, TOKEN } from '../support/rig.js'

/** What an agent is told over the wire: the tool's own answer has no problem document. */
export type Told = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly problem: { readonly [name: string]: unknown } | null
  readonly text: string
}
export type Request = {
  readonly target: string
  readonly body?: string
  readonly headers?: { readonly [name: string]: string }
  readonly token?: string
}
export type Proxied = {
  readonly time: FakeTime
  readonly rig: Rig
  /** Requests that reached the tool: the headers as they arrived. */
  readonly reached: { readonly [name: string]: string | string[] | undefined }[]
  post(request: Request): Promise<Told>
  /** A person decides on what is open, as shown. */
  say(id: unknown, outcome?: Outcome, who?: string): ReturnType<typeof decide>
  types(): Promise<string[]>
  /** The approval document a person is shown. */
  shown(id: unknown): Promise<{ readonly [member: string]: unknown }>
  restart(more?: Partial<RigOptions>): Promise<void>
  close(): Promise<void>
}

/** Agent, gate and tool on sockets of their own, under a clock that the test moves. */
export async function proxied(options: RigOptions): Promise<Proxied> {
  const time = fakeTime()
  const reached: Proxied['reached'] = []
  const tool = await listen((req, res) => {
    reached.push(req.headers)
    req.resume().on('end', () => {
      res.setHeader('content-type', 'application/json')
      res.end('{"done":true}')
    })
  })
  const origin = `http://127.0.0.1:${tool.port}`
  const clocks = { clock: time.clock, timer: time.timer }
  const serve = async (at: Rig) => {
    const upstream = createUpstream({ name: 'default', origin })
    const proxy = createProxy({
      gate: at.gate,
      upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
      passThrough: [],
      // A busy machine is no overload of the gate.
      limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
      report: () => undefined,
    })
    const { port } = await proxy.listen(0, '127.0.0.1')
    const close = async (): Promise<void> => {
      await proxy.close(0)
      await upstream.close()
    }
    return { port, close }
  }
  let at = await rig({ ...options, ...clocks })
  let front = await serve(at)
  return {
    time,
    reached,
    get rig() {
      return at
    },
    async post({ target, body = '', headers = {}, token = TOKEN }) {
      const head = [
        `POST ${target} HTTP/1.1`,
        'host: gate',
        'connection: close',
        `authorization: Bearer ${token}`,
        'content-type: application/json',
        `content-length: ${Buffer.byteLength(body)}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ]
      const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
      const answer = await ask(front.port, bytes)
      const text = answer.body.toString('utf8')
      const isProblem = answer.headers.get('content-type') === 'application/problem+json'
      const { status } = answer
      return { status, headers: answer.headers, problem: isProblem ? JSON.parse(text) : null, text }
    },
    say: (id, outcome = { kind: 'approve' }, who = 'alice') =>
      decide(at.gate, String(id), person(who), outcome),
    types: async () => (await at.lines()).map(({ type }) => type),
    async shown(id) {
      const found = await at.gate.data.evidence.byAction(String(id))
      if (found.state !== 'present') throw new Error(found.state)
      const document = found.value.find(({ name }) => name === 'document')
      return document?.value as { readonly [member: string]: unknown }
    },
    async restart(more = {}) {
      await front.close()
      at = await at.restart({ ...clocks, ...more })
      front = await serve(at)
    },
    async close() {
      await front.close()
      await at.close()
      await tool.close()
    },
  }
}
