import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { utf8 } from '../../src/core/bytes/text.js'
import type { Call, Header } from '../../src/core/call/call.js'
import type { Dispatch } from '../../src/ports/dispatch.js'
import { decide, person } from './approvals.js'
import { describedTool, httpCall } from './manifests.js'
import { rig, TOKEN, upstreamTo } from './rig.js'

/** A real gate in front of a real tool, with calls of every kind that leaves a digest behind. */
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    capture: full
    args: {order: string, currency: string, amount: decimal}
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      daily: {sum: {of: amount, max: "2000.00", per: [$agent, currency], window: 24h}}
  pay_salary:
    match: POST /v1/salaries
    capture: full
    digest_salt: tenant
    args: {person: string, amount: decimal}
  write_note:
    match: POST /v1/notes
    capture: full
    args: {title: string}
  compute: {args: {n: integer}}
`
const POLICIES = `
@id("all") permit (principal == Agent::"support-bot", action, resource);
@id("large") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
@id("salaries") @hem("required") forbid (principal, action == Action::"pay_salary", resource)
unless { context.approval.granted };
@id("computing") @hem("required") forbid (principal, action == Action::"compute", resource)
unless { context.approval.granted };
`
const ANSWERS: { readonly [path: string]: readonly [type: string, body: string] } = {
  '/v1/refunds': ['application/json', '{ "status": "done", "note": null, "id": "re_é" }'],
  '/v1/salaries': ['application/json', '{"paid":true}'],
  '/v1/notes': ['text/plain', 'noted'],
}
const caller = { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' }
const post = (target: string, body: object, more: { idempotencyKey?: string } = {}) =>
  httpCall('POST', target, body, {
    caller,
    headers: [
      ['content-type', 'application/json'],
      ['accept', 'application/json'],
      ['accept', 'text/plain'],
    ],
    ...more,
  })
const refund = (amount: string, more = {}) =>
  post('/v1/refunds', { order: 'o-1', currency: 'EUR', amount }, more)

export type Audited = {
  readonly actions: readonly string[]
  /** Of lines that no action stands behind. */
  readonly evidence: readonly string[]
}

/** Leaves a closed data folder in `dir`. */
export async function auditedGate(dir: string): Promise<Audited> {
  const server = createServer(({ url = '' }, response) => {
    const [type, body] = ANSWERS[url] ?? ['text/plain', '']
    response.writeHead(200, { 'content-type': type }).end(body)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstream = upstreamTo(origin)
  const small = { segmentBytes: 16_384, snapshotEvery: 5 }
  const { gate, lines } = await rig({ manifest: MANIFEST, policies: POLICIES, ...small }, dir)
  const actions: string[] = []

  const send: Dispatch = async ({ call, rule, saltedDigest, stillAllowed }) => {
    if (call.kind !== 'http') throw new Error(call.kind)
    const chunks: Uint8Array[] = []
    let head: { status: number; headers: readonly Header[] } | null = null
    const { method, target, headers, body } = call
    const observation = await upstream.send(
      { method, target, headers, body: body.bytes },
      { ...rule, saltedDigest },
      {
        head(status, headers) {
          head = { status, headers }
          return undefined
        },
        data: (chunk) => void chunks.push(chunk),
        trailers() {},
      },
      { stillAllowed },
    )
    const { status, headers: got } = head ?? { status: 0, headers: [] }
    return { observation, held: { status, headers: got, body: Buffer.concat(chunks) } }
  }
  const govern = async (call: Call): Promise<string> => {
    const answer = await gate.govern(call, send)
    if (answer.kind === 'unrecorded') throw new Error(answer.code)
    actions.push(answer.actionId)
    return answer.actionId
  }
  const decided = async (call: Call, kind: 'approve' | 'deny'): Promise<void> => {
    const asked = await govern(call)
    await decide(gate, asked, person('dora'), { kind, reason: 'as agreed' })
    if (kind === 'approve') await govern(call)
  }

  await govern(refund('5.00', { idempotencyKey: 'key-1' }))
  await govern(refund('900.00'))
  await decided(refund('150.00'), 'approve')
  await decided(refund('160.00'), 'deny')
  await govern(refund('170.00'))
  await decided(post('/v1/salaries', { person: 'eve', amount: '1.00' }), 'approve')
  await govern(post('/v1/notes', { title: 'hello' }))
  await govern(post('/v1/unknown', {}))
  await govern({
    kind: 'function',
    tool: 'compute',
    argumentsJson: utf8('{"n":1}'),
    caller: { bearer: null, certificate: null, asserted: 'support-bot', source: 'in-process' },
    idempotencyKey: null,
    approvalId: null,
    waitSeconds: 0,
  })
  await gate.halt({ kind: 'agent', name: 'support-bot' }, 'olga')
  await govern(refund('6.00'))
  await gate.resume({ kind: 'agent', name: 'support-bot' }, 'olga')
  const first = describedTool('write', 'Writes a file.', { maximum: 7, note: 'für alle' })
  const next = describedTool('write', 'Writes a file, and makes its folder.')
  await gate.pinTools('files', [first])
  await gate.pinTools('files', [next])
  const { tool, digest: definition } = next
  await gate.acceptTool({ server: 'files', tool, definition, by: 'olga' })
  const evidence = (await lines()).flatMap((line) =>
    ['HALT', 'RESUME', 'TOOL_ACCEPTED'].includes(line.type) ? [String(line.evidence_digest)] : [],
  )
  await gate.close()
  await upstream.close()
  server.close()
  return { actions: [...new Set(actions)], evidence }
}

export const dataOf = (dir: string): string => join(dir, 'data')
