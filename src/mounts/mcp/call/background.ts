import { mcpCallOf } from '../../../core/call/parts.js'
import { parse } from '../../../core/json/parse.js'
import { isObject } from '../../../core/json/value.js'
import { notificationOctets, requestOctets } from '../../../core/mcp/message.js'
import type { BackgroundDispatch } from '../../../gate/approval/run-approved.js'
import { notSent } from '../../../ports/dispatch.js'
import type { McpConnection, McpHead } from '../../../ports/mcp.js'
import { PROTOCOL_VERSION } from '../client.js'
import { createFlights } from '../flights.js'
import { type McpGate, PASS_MS, type Served } from '../options.js'
import { responseIn } from './answer.js'
import { dispatchOver } from './dispatch.js'

/** The newest revision with a handshake: servers agree on it or name their own. */
const HANDSHAKE = '2025-11-25'

/** `on_approval: dispatch`: a connection of the gate's own, for a call whose client has gone. */
export const backgroundOver =
  (
    servers: ReadonlyMap<string, Served>,
    gate: Pick<McpGate, 'memory' | 'recordServerFault'>,
  ): BackgroundDispatch =>
  (call) => {
    const asked = mcpCallOf(call)
    const served = asked === null ? undefined : servers.get(asked.server)
    if (asked === null || served === undefined) return null
    return async (order) => {
      const connection = served.to.connect({
        // Nobody is there to hear or to answer.
        message: () => undefined,
        fault: (fault) => gate.recordServerFault(served.name, fault),
        closed: () => undefined,
      })
      const flights = createFlights()
      const flight = flights.open({ text: '0', key: 'n0' }, null, null)
      try {
        const version = versionIn(asked.meta) ?? (await shakeHands(connection, flights.nextId()))
        if (version === null) return { observation: notSent('server_not_ready'), held: null }
        const headOf = (sent: { method: string; name: string | null }): McpHead => ({
          method: sent.method,
          name: sent.name,
          protocolVersion: version,
          params: [],
        })
        return await dispatchOver(
          { gate, served, connection: () => connection, headOf },
          flight,
        )(order)
      } finally {
        flights.over(flight)
        await connection.close()
      }
    }
  }

async function shakeHands(connection: McpConnection, id: number): Promise<string | null> {
  const params = JSON.stringify({
    protocolVersion: HANDSHAKE,
    capabilities: {},
    clientInfo: { name: 'capsule-gate', version: '1' },
  })
  const head = { method: 'initialize', name: null, protocolVersion: null, params: [] }
  const received = await connection.request(
    { id, octets: requestOctets(id, 'initialize', params), head },
    { stillAllowed: () => true, totalMs: PASS_MS },
  )
  if (received.kind === 'none') return null
  const body = responseIn(received.octets)?.body
  const version = body?.kind === 'result' ? body.value.get('protocolVersion') : null
  if (typeof version !== 'string') return null
  const method = 'notifications/initialized'
  connection.tell(notificationOctets(method, ''), { ...head, method, protocolVersion: version })
  return version
}

function versionIn(meta: string): string | null {
  const parsed = parse(`{${meta}}`)
  const version = parsed.ok && isObject(parsed.value) ? parsed.value.get(PROTOCOL_VERSION) : null
  return typeof version === 'string' ? version : null
}
