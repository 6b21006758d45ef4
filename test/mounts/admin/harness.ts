import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import {
  createToken,
  ROLES,
  type Role,
  revokeTokens,
} from '../../../src/adapters/identity/tokens.js'
import { adminTokens } from '../../../src/app/admin.js'
import { systemClock } from '../../../src/app/clock.js'
import type { RunningGate } from '../../../src/app/open-gate.js'
import { type VerdictTold, watchVerdicts } from '../../../src/app/telemetry/watch-verdicts.js'
import type { HttpCall } from '../../../src/core/call/call.js'
import type { Answer } from '../../../src/gate/answer/answer.js'
import type { GateReport } from '../../../src/gate/context.js'
import type { Sources } from '../../../src/mounts/admin/approvals/sources.js'
import type { AdminLimits } from '../../../src/mounts/admin/limits.js'
import { createReadiness } from '../../../src/mounts/admin/readiness.js'
import { createMetrics } from '../../../src/mounts/admin/routes/metrics.js'
import { createAdmin } from '../../../src/mounts/admin/server.js'
import type { AdminTokens } from '../../../src/ports/admin.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, type RigOptions, refund, rig, sending, upstreamTo } from '../../support/rig.js'

/** A real gate, a real upstream, a real admin listener; tokens made as an operator makes them. */
export type Plane = {
  readonly rig: Rig
  readonly gate: RunningGate
  readonly url: string
  /** Where the tool listens. */
  readonly upstream: string
  readonly tokens: Readonly<Record<Role, string>>
  readonly told: VerdictTold[]
  readonly reports: GateReport[]
  /** Bodies the upstream received. */
  readonly received: string[]
  refund(amount: string, more?: Partial<HttpCall>, order?: string): Promise<Answer>
  ask(method: string, path: string, options?: AskOptions): Promise<Answered>
  revoke(name: string): void
  close(): Promise<void>
}
export type AskOptions = {
  /** A role, or the bearer token itself; null sends none. */
  readonly as?: Role | null
  readonly bearer?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}
export type Answered = {
  readonly status: number
  readonly type: string
  readonly bytes: Buffer
  readonly headers: Headers
  readonly json: <T = Record<string, unknown>>() => T
}

const WIDE: AdminLimits = { refusalsPerMinute: 100_000, requestsPerMinute: 100_000 }

export async function startPlane(
  options: Partial<RigOptions> & {
    limits?: AdminLimits
    upstreamOrigin?: string
    sources?: (tokens: AdminTokens) => Sources
  } = {},
): Promise<Plane> {
  const { limits = WIDE, upstreamOrigin, sources, ...more } = options
  const received: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      received.push(body)
      response.setHeader('content-type', 'application/json')
      response.end('{"id":"re_1","note":"private-answer"}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstream: Upstream = upstreamTo(origin)
  const told: VerdictTold[] = []
  const reports: GateReport[] = []
  const metrics = createMetrics(systemClock)
  const watch = watchVerdicts(systemClock, (verdict) => {
    told.push(verdict)
    metrics.verdict(verdict)
  })
  const report = (event: GateReport): void => {
    metrics.report(event)
    reports.push(event)
  }
  const base = await rig({ manifest: PAYMENTS, concluding: watch.concluding, report, ...more })
  const gate = watch.around(base.gate)
  metrics.watch(gate)
  const data = join(base.dir, 'data')
  const tokens = Object.fromEntries(
    ROLES.map((role) => [
      role,
      createToken(data, { role, name: `the-${role}`, groups: [], now: new Date() }).token,
    ]),
  ) as Record<Role, string>
  const known = adminTokens(data, (error) => {
    report({ level: 'error', event: 'tokens_unreadable', detail: String(error) })
  })
  const admin = createAdmin({
    gate,
    metrics,
    report,
    limits,
    readiness: createReadiness({ gate, upstreams: { default: upstreamOrigin ?? origin } }),
    tokens: known,
    crypto: nodeCrypto,
    clock: base.gate.parts.clock,
    ids: base.gate.parts.ids,
    ...(sources === undefined ? {} : { sources: sources(known) }),
  })
  const { port } = await admin.listen(0, '127.0.0.1')
  const url = `http://127.0.0.1:${port}`
  return {
    rig: base,
    gate,
    url,
    upstream: origin,
    tokens,
    told,
    reports,
    received,
    refund: (amount, callMore, order) => {
      const call = refund(amount, callMore, order)
      return gate.govern(call, sending(upstream, call))
    },
    async ask(method, path, { as = 'operator', bearer, body, headers } = {}) {
      const token = bearer ?? (as === null ? undefined : tokens[as])
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      return {
        status: response.status,
        type: (response.headers.get('content-type') ?? '').split(';')[0] ?? '',
        bytes,
        headers: response.headers,
        json: () => JSON.parse(bytes.toString('utf8')),
      }
    },
    revoke: (name) => {
      revokeTokens(data, name)
    },
    async close() {
      await admin.close()
      await upstream.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await base.close()
    },
  }
}

export const idsOf = (answer: Answer): { actionId: string; capsuleId: string } => {
  if (answer.kind === 'unrecorded') throw new Error('no capsule')
  return { actionId: answer.actionId, capsuleId: answer.capsuleId }
}
