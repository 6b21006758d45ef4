import { fromUtf8 } from '../../../core/bytes/text.js'
import type { ReadMcpCall } from '../../../core/call/call.js'
import { mcpCallOf } from '../../../core/call/parts.js'
import { objectOf, requestOctets } from '../../../core/mcp/message.js'
import { namedBy } from '../../../core/mcp/methods.js'
import { type Dispatch, notSent, type Wrote } from '../../../ports/dispatch.js'
import type { McpConnection, McpControl, McpHead } from '../../../ports/mcp.js'
import type { Flight } from '../flights.js'
import type { McpGate, Served } from '../options.js'

/** Room that is set aside for an answer before the call is sent, as for a held answer over HTTP. */
const HOLD_BYTES = 1024 * 1024

export type Way = {
  readonly gate: Pick<McpGate, 'memory'>
  readonly served: Served
  readonly connection: () => McpConnection
  /** What HTTP repeats of the message in its head. */
  readonly headOf: (call: ReadMcpCall) => McpHead
}

/** The way of a judged call to its server: the judged octets go out under the gate's own id. */
export const dispatchOver =
  ({ gate, served, connection, headOf }: Way, flight: Flight): Dispatch =>
  async ({ call, rule, stillAllowed, saltedDigest }) => {
    const sent = mcpCallOf(call)
    if (sent === null || sent.server !== served.name) {
      return { observation: notSent('upstream_unknown'), held: null }
    }
    if (flight.cancelled()) return { observation: notSent('cancelled'), held: null }
    // A call that waited for a person is dispatched once more: its first try may hold room already.
    flight.room ??= gate.memory.hold(HOLD_BYTES)
    if (flight.room === null) return { observation: notSent('no_room_to_hold'), held: null }
    const left: { wrote?: Wrote } = {}
    const control: McpControl = {
      stillAllowed,
      totalMs: rule.deadlines.total_ms,
      signal: flight.signal,
      connection: rule.connection,
      ...(rule.intent === undefined
        ? {}
        : {
            wrote(octets) {
              left.wrote = { kind: 'mcp', octets }
            },
          }),
    }
    const received = await connection().request(
      {
        id: flight.id,
        octets: requestOctets(flight.id, sent.method, paramsOf(sent, flight)),
        head: headOf(sent),
      },
      control,
    )
    if (received.kind === 'none') {
      const { observation } = received
      const unsent = observation.kind === 'not_sent' && flight.cancelled()
      return { observation: unsent ? notSent('cancelled') : observation, held: null, ...left }
    }
    flight.room.shrinkTo(received.octets.length)
    const observation = received.observe({
      success: rule.success,
      external_ref: rule.effect.external_ref,
      saltedDigest,
    })
    const headers = [['content-type', 'application/json']] as const
    return { observation, held: { status: 200, headers, body: received.octets }, ...left }
  }

function paramsOf(call: ReadMcpCall, { id, progressToken }: Flight): string {
  const octets = fromUtf8(call.body.bytes) ?? ''
  const named = call.name === null ? null : namedBy(call.method)
  const meta = [
    ...(call.meta === '' ? [] : [call.meta]),
    ...(progressToken === null ? [] : [`"progressToken":${id}`]),
  ]
  const members = [
    ...(named === null
      ? inside(octets)
      : [
          `"${named}":${JSON.stringify(call.name)}`,
          ...(octets === '' ? [] : [`"arguments":${octets}`]),
        ]),
    ...(call.more === '' ? [] : [call.more]),
    ...(meta.length === 0 ? [] : [`"_meta":${objectOf(meta)}`]),
  ]
  return objectOf(members)
}

/** The members of an object's text, as they stood. */
function inside(object: string): readonly string[] {
  const members = object.slice(1, -1)
  return members.trim() === '' ? [] : [members]
}
