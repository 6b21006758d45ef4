import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import { MOST_PERMITS } from '../../src/gate/permit/permits.js'
import { DEFAULT_LIMITS } from '../../src/mounts/proxy/options.js'
import { createProxy } from '../../src/mounts/proxy/server.js'
import { rawClient } from '../mounts/proxy/harness.js'
import { askHttp } from './ask-http.js'
import type { Doing, Told, Way } from './verdict-table.js'
import { signal, TOOLS } from './verdict-ways.js'

/** A runtime that acts itself: it asks for a verdict over a socket, and reports what the row's tool does. */
export async function throughDecide(running: RunningGate): Promise<Way> {
  const reached = signal()
  let doing: Doing = { code: 'executed', tool: undefined, cut: false }
  const proxy = createProxy({
    gate: running,
    upstreams: new Map(),
    passThrough: [],
    limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: () => undefined,
  })
  const { port } = await proxy.listen(0, '127.0.0.1')

  async function report(call: HttpCall, id: string, ok: boolean): Promise<Told | null> {
    const { declared: _, ...asked } = call
    return askHttp(port, ofGate(asked, `/.gate/v1/actions/${id}/report`, { ok }))
  }
  return {
    async behave(next) {
      doing = next
    },
    reached: () => reached.promise,
    async ask(call, code) {
      if (code === 'ungated_report') return report(call, UNKNOWN, true)
      const question = questionOf(call)
      if (code === 'permits_exhausted') {
        for (let held = 0; held < MOST_PERMITS; held++) await askHttp(port, question)
      }
      const told = await askHttp(port, question)
      const [, id] = /"verdict":"permit","action_id":"([0-9a-f-]+)"/.exec(told?.wire ?? '') ?? []
      if (id === undefined) return told
      reached.tell()
      if (doing.code === 'recovered' || doing.code === 'deadline_after_dispatch') return null
      const failed = doing.cut || doing.code === 'runtime_failed'
      const reported = await report(call, id, !failed)
      return failed ? null : reported
    },
    async readOwn(method, path, { caller }) {
      const client = await rawClient(port)
      const who = caller.bearer === null ? '' : `authorization: Bearer ${caller.bearer}\r\n`
      client.send(`${method} ${path} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n${who}\r\n`)
      return (await client.closed()).toString('latin1')
    },
    close: () => proxy.close(0),
  }
}

const UNKNOWN = '01900000-0000-7000-8000-00000000beef'

const ofGate = (call: HttpCall, target: string, body: unknown): HttpCall => ({
  ...call,
  method: 'POST',
  target,
  body: { kind: 'read', bytes: new TextEncoder().encode(JSON.stringify(body)) },
})

/** The same call as a question; what is wrong with the body stays wrong. */
function questionOf(call: HttpCall): HttpCall {
  const tool = TOOLS[call.target] ?? 'unheard_of'
  const asked = ofGate(call, '/.gate/v1/decide', null)
  if (call.body.kind !== 'read') return { ...asked, body: call.body }
  const args = Buffer.from(call.body.bytes).toString('utf8')
  const text = `{"tool":${JSON.stringify(tool)},"arguments":${args}}`
  return { ...asked, body: { kind: 'read', bytes: new TextEncoder().encode(text) } }
}
