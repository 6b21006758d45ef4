import { membersOf } from '../../core/json/spans.js'
import {
  errorOctets,
  type Request,
  type Response,
  requestOctets,
  resultOctets,
} from '../../core/mcp/message.js'
import { withMeta } from '../../core/mcp/meta.js'
import { isList } from '../../core/mcp/methods.js'
import type { McpReceived } from '../../ports/mcp.js'
import { protocolError, responseIn } from './call/answer.js'
import type { Flight } from './flights.js'
import type { Line } from './line.js'
import { usablePage } from './lists/usable-page.js'
import { PASS_MS, type Reply, type Sender } from './options.js'

/** The answer of the server to what is no call, as the client gets it. */
export type Passed = {
  readonly reply: Reply
  /** The server's own result; null where it gave none. */
  readonly result: Extract<Response['body'], { kind: 'result' }> | null
}

/** The protocol's own business: to the server and back, without a verdict. Lists come back with what is usable. */
export async function passOn(
  request: Request,
  flight: Flight,
  sender: Sender,
  line: Line,
): Promise<Passed> {
  const { id, method, params } = request
  const token = flight.progressToken === null ? [] : [`"progressToken":${flight.id}`]
  const none = params.members.length === 0 && token.length === 0
  const text = none ? '' : withMeta(params.members, line.served.meta.to_server, token)
  const received = await line.connection().request(
    {
      id: flight.id,
      octets: requestOctets(flight.id, method, text),
      head: line.headOf(method, null),
    },
    {
      stillAllowed: () => true,
      // A subscription is answered when it ends.
      totalMs: method === 'subscriptions/listen' ? 0 : PASS_MS,
      signal: flight.signal,
    },
  )
  const response = received.kind === 'none' ? null : responseIn(received.octets)
  if (response === null) {
    return { reply: protocolError(id, -32603, silence(received)), result: null }
  }
  const { body } = response
  if (body.kind === 'error') {
    return {
      reply: { octets: errorOctets(id, body.text), status: 200, problem: null, code: body.code },
      result: null,
    }
  }
  const { identified } = sender
  const result =
    isList(method) && identified.kind === 'known'
      ? await usablePage(method, body, identified, line)
      : body.text
  const octets = resultOctets(id, line.cleaned(membersOf(result)))
  return { reply: { octets, status: 200, problem: null, code: null }, result: body }
}

function silence(received: McpReceived): string {
  if (received.kind === 'message') return 'The server answered with something that is no answer.'
  return received.observation.kind === 'not_sent'
    ? `The server cannot be reached (${received.observation.cause}).`
    : `The server did not answer (${received.observation.cause}).`
}
