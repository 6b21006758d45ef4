import type { HttpCall } from '../../src/core/call/call.js'
import { parseAnswer, rawClient } from '../mounts/proxy/harness.js'
import type { Told } from './verdict-table.js'

/** What the call declares, as text; where it declares anything. */
export function declaredIn({ declared }: HttpCall): { intent?: string; mandate?: string } {
  if (declared?.kind !== 'carried') return {}
  const { intent, mandate } = declared
  return {
    ...(intent === null ? {} : { intent: Buffer.from(intent).toString('utf8') }),
    ...(mandate === null ? {} : { mandate }),
  }
}

/** The call as bytes on a socket, its faults included. */
export async function askHttp(port: number, call: HttpCall): Promise<Told | null> {
  const { body, caller } = call
  const { intent, mandate } = declaredIn(call)
  const lines = [
    `${call.method} ${call.target} HTTP/1.1`,
    'host: gate',
    'connection: close',
    ...call.headers.map(([name, value]) => `${name}: ${value}`),
    ...(caller.bearer === null ? [] : [`authorization: Bearer ${caller.bearer}`]),
    ...(call.idempotencyKey === null ? [] : [`idempotency-key: ${call.idempotencyKey}`]),
    ...(call.approvalId === null ? [] : [`gate-approval: ${call.approvalId}`]),
    ...(intent === undefined ? [] : [`agent-intent: ${Buffer.from(intent).toString('base64url')}`]),
    ...(mandate === undefined ? [] : [`agent-mandate: ${mandate}`]),
    ...(body.kind === 'malformed' ? ['content-type: text/plain', 'content-length: 0'] : []),
    ...(body.kind === 'too_large' ? ['content-length: 99999999'] : []),
    ...(body.kind === 'aborted' || body.kind === 'no_room' ? ['content-length: 100'] : []),
    ...(body.kind === 'consumed' ? ['content-length: 2'] : []),
    ...(body.kind === 'read' ? [`content-length: ${body.bytes.length}`] : []),
  ]
  const client = await rawClient(port)
  client.send(`${lines.join('\r\n')}\r\n\r\n`)
  if (body.kind === 'read') client.send(body.bytes)
  if (body.kind === 'consumed') client.send('{}')
  if (body.kind === 'aborted') {
    client.socket.end('{"a"')
    return null
  }
  const answered = parseAnswer(await client.closed())
  if (answered.status === 0) return null
  return told(
    answered.status,
    answered.headers.get('content-type') ?? null,
    answered.body.toString('utf8'),
    answered.text,
  )
}

export const told = (status: number, type: string | null, text: string, wire: string): Told => ({
  status,
  wire,
  problem: type === 'application/problem+json' ? JSON.parse(text) : null,
})
