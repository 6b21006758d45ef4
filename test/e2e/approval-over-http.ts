import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { Seam } from '../../src/gate/context.js'
import { ask, type RawAnswer, rawClient } from '../mounts/proxy/harness.js'
import type { FakeTime } from '../support/approvals.js'
import { type Listening, listen } from '../support/listen.js'
import { nextRequest } from '../support/next-request.js'
import { OTHER_TOKEN, rig, TOKEN } from '../support/rig.js'
import { DECLARING, type Mounted, type Sent, type Told } from './approval-conformance.js'

/** What differs between mounts that agents reach over a socket. It outlives the gate's restarts. */
export type Front = Pick<Mounted, 'reached' | 'sendNothing'> & {
  open(gate: RunningGate): Promise<Listening>
  readonly seam?: (name: Seam) => void | Promise<void>
  close(): Promise<void>
}

/** The mount on a socket of its own, asked in bytes; a restart closes mount and gate, and opens both anew. */
export async function overHttp(
  time: FakeTime,
  rules: { manifest: string; policies: string },
  front: Front,
): Promise<Mounted> {
  const dir = mkdtempSync(join(tmpdir(), 'gate-conformance-'))
  const { seam = () => undefined } = front
  const mandateIssuers = DECLARING.options
  const options = { clock: time.clock, timer: time.timer, seam, mandateIssuers }
  const open = async (more: Partial<typeof rules>) => {
    const at = await rig({ ...rules, ...more, ...options }, dir)
    return { at, mount: await front.open(at.gate) }
  }
  let running = await open({})
  return {
    get gate() {
      return running.at.gate
    },
    send: async (call) => told(await ask(running.mount.port, bytesOf(call))),
    async sendAnd(call) {
      const taken = nextRequest()
      const client = await rawClient(running.mount.port)
      client.send(bytesOf(call))
      const socket = await taken
      return {
        async leave() {
          const closed = once(socket, 'close')
          client.socket.destroy()
          await closed
        },
      }
    },
    reached: front.reached,
    sendNothing: front.sendNothing,
    capsules: () => running.at.capsules(),
    async restart(more = {}) {
      await running.mount.close()
      await running.at.gate.close()
      running = await open(more)
    },
    async close() {
      await running.mount.close()
      await running.at.close()
      await front.close()
    },
  }
}

/** What a refund's tool says, wherever it runs. */
export const DONE = '{"refund":"done"}'

/** A tool of another process's kind: its own server, which can go away and come back at its address. */
export async function httpTool() {
  let reached = 0
  const serve = (port?: number): Promise<Listening> =>
    listen((req, res) => {
      reached++
      req.resume().on('end', () => {
        res.setHeader('content-type', 'application/json')
        res.end(DONE)
      })
    }, port)
  let server = await serve()
  const { port } = server
  return {
    origin: `http://127.0.0.1:${port}`,
    reached: () => reached,
    async sendNothing(on: boolean) {
      if (on) await server.close()
      else server = await serve(port)
    },
    close: () => server.close(),
  }
}

function bytesOf({ amount, order = 'o-1', as = 'support-bot', ...more }: Sent): string {
  const body = JSON.stringify({ order, currency: 'EUR', amount })
  const { approvalId, waitSeconds, idempotencyKey, declared } = more
  const head = [
    'POST /v1/refunds HTTP/1.1',
    'host: gate',
    'connection: close',
    `authorization: Bearer ${as === 'support-bot' ? TOKEN : OTHER_TOKEN}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...(approvalId === undefined ? [] : [`gate-approval: ${approvalId}`]),
    ...(waitSeconds === undefined ? [] : [`prefer: wait=${waitSeconds}`]),
    ...(idempotencyKey === undefined ? [] : [`idempotency-key: ${idempotencyKey}`]),
    ...(declared === undefined
      ? []
      : [
          `agent-intent: ${Buffer.from(JSON.stringify(declared.intent)).toString('base64url')}`,
          `agent-mandate: ${declared.mandate}`,
        ]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

/** Fields and problem document must tell the same story, and a success must be the tool's own words. */
function told({ status, headers, body, text: wire }: RawAnswer): Told {
  const text = body.toString('utf8')
  const capsuleId = headers.get('gate-capsule') ?? null
  if (headers.get('content-type') !== 'application/problem+json') {
    expect({ status, text }).toEqual({ status: 200, text: DONE })
    return { status, code: null, approvalId: null, capsuleId, wire }
  }
  const problem = JSON.parse(text) as { [name: string]: unknown }
  expect([problem.status, problem.capsule_id ?? null]).toEqual([status, capsuleId])
  const { approval_id, differs_at } = problem
  if (status === 202) expect(headers.get('location')).toBe(`/.gate/v1/actions/${approval_id}`)
  return {
    status,
    code: String(problem.code),
    approvalId: typeof approval_id === 'string' ? approval_id : null,
    capsuleId,
    differsAt: typeof differs_at === 'string' ? differs_at : null,
    wire,
  }
}
