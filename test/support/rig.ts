import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import { type GateOptions, openGate, type RunningGate } from '../../src/app/open-gate.js'
import type { Header, HttpCall } from '../../src/core/call/call.js'
import { type LineOf, readLine } from '../../src/core/journal/vocabulary.js'
import { manifestDigest } from '../../src/core/manifest/expand/expand.js'
import type { GateReport } from '../../src/gate/context.js'
import { CANARY } from '../../src/gate/operate/canary.js'
import type { Dispatch, Wrote } from '../../src/ports/dispatch.js'
import type { JournalLine } from '../../src/ports/journal.js'
import type { Upstream } from '../../src/ports/upstream.js'
import { httpCall, manifestOf } from './manifests.js'

/** A real gate on a temporary folder: real journal, evidence, keys, Cedar; no HTTP in front of it. */
export const POLICIES = `
@id("support-refunds") permit (principal == Agent::"support-bot", action == Action::"create_refund", resource);
@id("large-refund") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`
export const TOKEN = 'support-bot-token'
export const OTHER_TOKEN = 'other-bot-token'
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export type Rig = {
  readonly dir: string
  readonly gate: RunningGate
  readonly reports: GateReport[]
  /** Capsule lines so far, the canary's left out. */
  capsules(): Promise<CapsuleLine[]>
  lines(): Promise<JournalLine[]>
  /** Closes and opens again on the same folder. */
  restart(more?: Partial<RigOptions>): Promise<Rig>
  close(): Promise<void>
}
export type CapsuleLine = LineOf<'CAPSULE'>

export type RigOptions = {
  readonly manifest: string
  readonly policies?: string
  /** Beside the two tokens that every rig knows. */
  readonly mandateIssuers?: NonNullable<GateOptions['identity']['mandates']>
} & Partial<GateOptions>

export async function rig(
  options: RigOptions,
  dir = mkdtempSync(join(tmpdir(), 'gate-rig-')),
): Promise<Rig> {
  const { manifest: text, policies = POLICIES, mandateIssuers, ...more } = options
  const policyFolder = join(dir, 'policies')
  mkdirSync(policyFolder, { recursive: true })
  writeFileSync(join(policyFolder, 'payments.cedar'), policies)
  const manifest = manifestOf(text)
  const reports: GateReport[] = []
  const gate = await openGate({
    dir: join(dir, 'data'),
    headFile: join(dir, 'head'),
    operator: 'acme',
    mode: 'enforce',
    manifests: [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }],
    policyFolder,
    identity: {
      tokens: () =>
        new Map([
          [sha256(TOKEN), { agent: 'support-bot', roles: [], developer: 'support-bot@1' }],
          [sha256(OTHER_TOKEN), { agent: 'other-bot', roles: [], developer: 'other-bot@1' }],
        ]),
      issuers: [],
      certificates: new Map(),
      anonymous: false,
      ...(mandateIssuers === undefined ? {} : { mandates: mandateIssuers }),
    },
    report: (event) => reports.push(event),
    // A thread per rig would cost each of a thousand tests a tenth of a second; what runs in one has
    // suites of its own (recorder, torture, every process started from the build).
    recorder: { in: 'this_thread' },
    ...more,
  })
  const lines = async (): Promise<JournalLine[]> => {
    const out: JournalLine[] = []
    for await (const line of gate.data.journal.lines()) out.push(line)
    return out
  }
  return {
    dir,
    gate,
    reports,
    lines,
    async capsules() {
      return (await lines()).flatMap((raw) => {
        const line = readLine(raw)
        const own = line?.type === 'CAPSULE' && line.capsule.developer !== CANARY
        return own ? [line] : []
      })
    },
    async restart(again = {}) {
      await gate.close()
      return rig({ ...options, ...again }, dir)
    },
    async close() {
      await gate.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** A refund as the support bot sends it. */
export const refund = (amount: string, more: Partial<HttpCall> = {}, order = 'o-1'): HttpCall =>
  httpCall(
    'POST',
    '/v1/refunds',
    { order, currency: 'EUR', amount },
    {
      caller: { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' },
      ...more,
    },
  )

/** Sends the call for real, through the upstream adapter, and keeps the response whole. */
export function sending(upstream: Upstream, call: HttpCall): Dispatch {
  return async ({ stillAllowed, rule }) => {
    const chunks: Uint8Array[] = []
    let head: { status: number; headers: readonly Header[] } | null = null
    const left: { wrote?: Wrote } = {}
    const observation = await upstream.send(
      {
        method: call.method,
        target: call.target,
        headers: call.headers,
        body: call.body.kind === 'read' ? call.body.bytes : new Uint8Array(),
      },
      { ...rule, saltedDigest: null },
      {
        head(status, headers) {
          head = { status, headers }
          return undefined
        },
        data(chunk) {
          chunks.push(chunk)
          return undefined
        },
        trailers() {},
      },
      {
        stillAllowed,
        wrote(written, body) {
          if (rule.intent !== undefined) left.wrote = { kind: 'http', head: written, body }
        },
      },
    )
    const held =
      head === null
        ? null
        : {
            ...(head as { status: number; headers: readonly Header[] }),
            body: Buffer.concat(chunks),
          }
    return { observation, held, ...left }
  }
}

export const upstreamTo = (origin: string): Upstream => createUpstream({ name: 'default', origin })
