import { Readable } from 'node:stream'
import express from 'express'
import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import { type AppHandler, gate, governedProxy } from '../../src/express.js'
import { gatedFetch } from '../../src/mounts/function/fetch.js'
import { GateRefusal, wrap } from '../../src/mounts/function/wrap.js'
import { DEFAULT_LIMITS } from '../../src/mounts/proxy/options.js'
import { createProxy } from '../../src/mounts/proxy/server.js'
import type { Upstream } from '../../src/ports/upstream.js'
import { rawClient } from '../mounts/proxy/harness.js'
import { listen } from '../support/listen.js'
import { type RawUpstream, rawUpstream } from '../support/raw-upstream.js'
import { TOKEN } from '../support/rig.js'
import { fine } from '../support/verdict-scenarios.js'
import { askHttp, declaredIn, told } from './ask-http.js'
import type { Doing, Way } from './verdict-table.js'

/** The ways into the gate, each on real sockets where it has any. */
export type Signal = { readonly promise: Promise<void>; tell(): void }
export function signal(): Signal {
  let tell: () => void = () => undefined
  const promise = new Promise<void>((resolve) => {
    tell = resolve
  })
  return { promise, tell }
}

/** An upstream whose address and manners depend on the row. */
async function network(): Promise<{
  readonly server: RawUpstream
  readonly reached: Signal
  behave(doing: Doing): Promise<void>
  readonly origin: () => string
}> {
  const reached = signal()
  let doing: Doing['tool'] = fine
  const server = await rawUpstream((peer) => {
    const request: typeof peer.request = async () => {
      const read = await peer.request()
      reached.tell()
      return read
    }
    return (typeof doing === 'function' ? doing : fine)({ ...peer, request })
  })
  let origin = server.origin
  return {
    server,
    reached,
    origin: () => origin,
    async behave({ tool }) {
      doing = tool ?? fine
      if (tool === 'no_tls') origin = server.origin.replace('http:', 'https:')
      if (tool !== 'refused') return
      const gone = await rawUpstream(fine)
      await gone.close()
      origin = gone.origin
    },
  }
}

export async function throughProxy(running: RunningGate): Promise<Way> {
  const net = await network()
  const opened: { close(): Promise<void> }[] = []
  let port = 0
  return {
    behave: net.behave,
    reached: () => net.reached.promise,
    async ask(call) {
      const origin = net.origin()
      const upstream = createUpstream({ name: 'default', origin })
      const proxy = createProxy({
        gate: running,
        upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
        passThrough: [],
        limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
        report: () => undefined,
      })
      opened.push({ close: () => proxy.close(0) }, upstream)
      port = (await proxy.listen(0, '127.0.0.1')).port
      return askHttp(port, call)
    },
    async readOwn(method, path, { caller }) {
      const client = await rawClient(port)
      const who = caller.bearer === null ? '' : `authorization: Bearer ${caller.bearer}\r\n`
      client.send(`${method} ${path} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${who}\r\n`)
      return (await client.closed()).toString('latin1')
    },
    async close() {
      for (const { close } of opened) await close()
      await net.server.close()
    },
  }
}

export async function throughGovernedProxy(running: RunningGate): Promise<Way> {
  const net = await network()
  const opened: { close(): Promise<void> }[] = []
  return {
    behave: net.behave,
    reached: () => net.reached.promise,
    async ask(call) {
      const proxy = governedProxy({ gate: running, target: net.origin() })
      const app = express().use(parserFor(call.body.kind === 'consumed'), proxy as never)
      const { port, close } = await listen(app)
      opened.push({ close }, proxy)
      return askHttp(port, call)
    },
    async close() {
      for (const { close } of opened) await close()
      await net.server.close()
    },
  }
}

export async function throughMiddleware(running: RunningGate): Promise<Way> {
  const reached = signal()
  let doing: Doing = { code: 'executed', tool: undefined, cut: false }
  const handler: AppHandler = (_req, res) => {
    reached.tell()
    answer(doing, res as unknown as express.Response)
  }
  const parser: AppHandler = (req, res, next) =>
    parserFor(doing.code === 'body_consumed')(req as never, res as never, next)
  const { port, close } = await listen(
    express().use(parser as never, gate(running) as never, handler as never),
  )
  return {
    async behave(next) {
      doing = next
    },
    reached: () => reached.promise,
    ask: (call) => askHttp(port, call),
    close,
  }
}

/** A body parser where it must not be, for the row that it brings about. */
const parserFor = (wrong: boolean): express.RequestHandler =>
  wrong ? express.json() : (_req, _res, next) => next()

/** What a handler does where an upstream would do what the row's tool does. */
function answer({ code, cut }: Doing, res: express.Response): void {
  if (cut) {
    res.destroy()
    return
  }
  switch (code) {
    case 'tool_refused':
      res.status(409).json({ error: 'gone' })
      return
    case 'tool_failed':
      res.status(500).json({ error: 'x' })
      return
    case 'outcome_unknown':
      res.write('{"half":')
      res.destroy()
      return
    case 'claimed':
      Readable.from(['from elsewhere']).pipe(res)
      return
    case 'runtime_failed':
      Readable.from(['from elsewhere']).pipe(res.status(500))
      return
    case 'deadline_after_dispatch':
    case 'recovered':
      return
    default:
      res.json({ state: 'done' })
  }
}

export const TOOLS: Readonly<Record<string, string>> = {
  '/v1/refunds': 'create_refund',
  '/v1/notes': 'annotate',
  '/v1/counts': 'count_up',
  '/v1/limited': 'limited',
  '/v1/held': 'held',
  '/v1/once': 'once',
  '/v1/settlements': 'settle',
  '/v1/lookups': 'look_up',
}
export const agentOf = ({ caller }: HttpCall): string =>
  caller.bearer === TOKEN ? 'support-bot' : 'other-bot'
const asOf = (call: HttpCall) => ({
  agent: agentOf(call),
  ...(call.idempotencyKey === null ? {} : { idempotencyKey: call.idempotencyKey }),
  ...(call.approvalId === null ? {} : { approvalId: call.approvalId }),
  ...declaredIn(call),
})

export async function throughFunction(running: RunningGate): Promise<Way> {
  const reached = signal()
  let doing: Doing = { code: 'executed', tool: undefined, cut: false }
  const own = new Error('the function’s own')
  return {
    async behave(next) {
      doing = next
    },
    reached: () => reached.promise,
    async ask(call, code) {
      const run = wrap(running, TOOLS[call.target] ?? 'unheard_of', async () => {
        reached.tell()
        if (doing.code === 'recovered') await new Promise(() => undefined)
        if (doing.cut || doing.code === 'runtime_failed') throw own
        return 'done'
      })
      const text = Buffer.from(call.body.kind === 'read' ? call.body.bytes : []).toString('utf8')
      const args: { [name: string]: unknown } = JSON.parse(text)
      // JSON.stringify never writes a name twice; what it cannot write at all is as unreadable.
      if (code === 'body_unreadable') args.self = args
      try {
        await run(args, asOf(call))
        return { status: 200, problem: null, wire: '' }
      } catch (error) {
        if (error === own) return null
        if (!(error instanceof GateRefusal)) throw error
        const { problem, message, code } = error
        const wire = `${message} ${code} ${error.cause} ${JSON.stringify(problem)}`
        return { status: problem.status, problem, wire }
      }
    },
    close: async () => undefined,
  }
}

export async function throughFetch(running: RunningGate): Promise<Way> {
  const net = await network()
  const opened: Upstream[] = []
  return {
    behave: net.behave,
    reached: () => net.reached.promise,
    async ask(call) {
      const origin = net.origin()
      const upstream = createUpstream({ name: 'default', origin })
      opened.push(upstream)
      const fetch = gatedFetch(running, {
        upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
        holdBytes: DEFAULT_LIMITS.holdLimit,
      })
      const response = await fetch(`${origin}${call.target}`, {
        method: call.method,
        headers: call.headers.map(([name, value]): [string, string] => [name, value]),
        body: call.body.kind === 'read' ? Buffer.from(call.body.bytes) : null,
        ...asOf(call),
      })
      const text = await response.text()
      const fields = JSON.stringify([...response.headers])
      return told(
        response.status,
        response.headers.get('content-type'),
        text,
        `${response.statusText} ${fields} ${text}`,
      )
    },
    async close() {
      for (const upstream of opened) await upstream.close()
      await net.server.close()
    },
  }
}
