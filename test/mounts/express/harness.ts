import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import express5 from 'express'
import type { RunningGate } from '../../../src/app/open-gate.js'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { type GateMiddleware, type GuardOptions, gate } from '../../../src/express.js'
import { type Rig, type RigOptions, rig, TOKEN } from '../../support/rig.js'

/** Express 4 under another name, without types of its own; what is used of it here is the same. */
const EXPRESS_4: string = 'express4'
export const { default: express4 } = (await import(EXPRESS_4)) as { default: typeof express5 }
export const VERSIONS = [
  ['Express 5', express5],
  ['Express 4', express4],
] as const
export type Express = typeof express5
export type App = ReturnType<Express>

export const AUTH = `authorization: Bearer ${TOKEN}\r\n`
export const MANIFEST = `id: com.acme.app
tools:
  run:
    match: POST /run
    also: {body: any}
    deadlines: {connect_ms: 400, first_byte_ms: 400, total_ms: 60000}
  impatient:
    match: POST /impatient
    also: {body: any}
    deadlines: {connect_ms: 100, first_byte_ms: 100, total_ms: 150}
  pay:
    match: POST /pay
    args: {amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
  look:
    match: GET /look
  peek:
    match: HEAD /look
  whole:
    match: GET /whole
    hold_response: true
  refund:
    args: {amount: decimal}
`
export const POLICY = `@id("all") permit (principal == Agent::"support-bot", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`

export type Stand = {
  readonly rig: Rig
  readonly port: number
  readonly server: Server
  /** What something left behind: waits until `count` capsules are there. */
  after<T>(act: () => Promise<T>, count?: number): Promise<{ result: T; capsules: Capsule[] }>
  close(): Promise<void>
}
export type StandOptions = Partial<RigOptions> & {
  readonly guard?: GuardOptions
  /** Wraps the gate, for faults that nothing else can cause. */
  readonly through?: (gate: RunningGate) => RunningGate
}

/** An application on a real socket, with the gate in front of what `build` mounts behind it. */
export async function startApp(
  build: (
    guarded: GateMiddleware<RunningGate>,
    gate: RunningGate,
  ) => (req: IncomingMessage, res: ServerResponse) => unknown,
  { guard, through = (same) => same, ...more }: StandOptions = {},
): Promise<Stand> {
  const at = await rig({ manifest: MANIFEST, policies: POLICY, ...more })
  const running = through(at.gate)
  const handler = build(gate(running, guard), running)
  const server = createServer((req, res) => void handler(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const capsules = async (): Promise<Capsule[]> =>
    (await at.capsules()).map(({ capsule }) => capsule as unknown as Capsule)
  return {
    rig: at,
    server,
    port: (server.address() as AddressInfo).port,
    async after(act, count = 1) {
      const before = (await capsules()).length
      const written = new Promise<void>((resolve) => {
        let seen = 0
        const stop = at.gate.data.subscribe((line) => {
          if (line.type === 'CAPSULE' && ++seen === count) {
            stop()
            resolve()
          }
        })
      })
      const result = await act()
      await written
      return { result, capsules: (await capsules()).slice(before) }
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await at.close()
    },
  }
}

export const post = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: app\r\nconnection: close\r\n${AUTH}${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
export const get = (path: string, headers = '', method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nhost: app\r\nconnection: close\r\n${AUTH}${headers}\r\n`
export const JSON_TYPE = 'content-type: application/json\r\n'
