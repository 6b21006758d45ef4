/** Where two readers could disagree about a message: a code, because the reason object holds no prose (seed §5.4). */
const WORDS = {
  method_not_served: 'the methods TRACE and CONNECT are not served',
  host_missing: 'the header host is missing',
  protocol_change: 'a governed route has no other protocol to change to',
  expectation_unmet: 'the expectation cannot be met',
  coding_in_http_1_0: 'a transfer-coding has no meaning in HTTP/1.0',
  coding_not_chunked: 'the transfer-coding is not chunked alone',
  length_beside_coding: 'content-length stands beside transfer-encoding',
  body_misframed: 'the body is not framed as announced',
  body_too_slow: 'the body came too slowly',
  host_foreign: 'the header host names another machine',
  origin_foreign: 'the page that sent the request is of another site',
  session_missing: 'it names no session; begin with initialize and send the Mcp-Session-Id it gave',
  session_unknown: 'there is no such session, or it is over; begin with initialize',
  server_unknown: 'there is no such server here',
  message_not_json: 'the message is not strict UTF-8 JSON',
  message_names_twice: 'the message names a member twice',
  message_batched: 'several messages came as one; send each by itself',
  message_not_rpc: 'the message is no JSON-RPC 2.0 request',
  message_param_unknown: 'params hold a member that is not passed on',
  message_meta_missing: '_meta lacks the protocol version or the capabilities of the client',
  message_header_mismatch: 'the headers do not say what the message says',
  question_misshapen: 'the body is not {"tool": a name, "arguments": an object} and nothing else',
  transition_misshapen:
    'the body is not {"intent": an object, "mandate": a text, "request": {"method", "target", "content_type", "body"}}',
  transition_method: 'a transition cannot have the method CONNECT, HEAD or TRACE',
  transition_reserved: 'the target of a transition is a path of the gate itself',
  message_id_in_flight: 'the id of the request is that of another that is not answered yet',
} as const

export type Malformed = keyof typeof WORDS | `${typeof TWICE}${string}`

const TWICE = 'header_twice:'
export const headerTwice = (name: string): Malformed => `${TWICE}${name}`

/** As the caller reads it. */
export const malformedInWords = (fault: Malformed): string =>
  isTwice(fault) ? `the header ${fault.slice(TWICE.length)} occurs twice` : WORDS[fault]

const isTwice = (fault: Malformed): fault is `${typeof TWICE}${string}` => fault.startsWith(TWICE)
