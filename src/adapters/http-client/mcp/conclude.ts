import type { Observation } from '../../../core/capsule/observation.js'
import { readMessage } from '../../../core/mcp/message.js'
import { type MessageFraming, witnessMessage } from '../../../core/mcp/witness.js'
import type { McpReceived } from '../../../ports/mcp.js'
import { nodeCrypto } from '../../crypto-node.js'
import type { Cut, Link } from './link.js'
import type { Reading } from './reading.js'

type Missed = Extract<Observation, { kind: 'not_sent' | 'sent' }>

export const received = (octets: Uint8Array, framing: MessageFraming): McpReceived => ({
  kind: 'message',
  octets,
  observe: (rule) => witnessMessage(octets, framing, rule, nodeCrypto),
})

/** What is known of a request when its exchange is over, and no event on it was the answer. */
export function conclude(
  link: Link,
  id: number,
  observation: Observation,
  reading: Reading,
  cut: Cut,
): McpReceived {
  const { status } = reading
  if (observation.kind !== 'complete' || status === null) return none(missed(observation, cut.why))
  if (reading.kind !== 'json') {
    const ended = reading.kind === 'events' ? 'stream_ended' : `http_status_${status}`
    return none(sent(ended, observation))
  }
  const octets = reading.takeBody()
  const cause = whyNoAnswer(link, id, octets, status)
  return cause === null ? received(octets, 'json_body') : none(sent(cause, observation))
}

/**
 * Null where the body is the answer. With a status of failure only an error can be that: a result under it would
 * contradict itself, and which half holds nobody could tell.
 */
function whyNoAnswer(link: Link, id: number, octets: Uint8Array, status: number): string | null {
  const { listener, ended, maxMessageBytes } = link
  const read = readMessage(octets, maxMessageBytes)
  const failed = status >= 300
  if (!read.ok) {
    if (failed) return `http_status_${status}`
    listener.fault(read.fault)
    return read.fault
  }
  const { message } = read
  if (message.kind !== 'response') return 'no_response'
  if (message.id.key !== `n${id}`) {
    const fault = ended.judge(message.id.key)
    if (fault !== null) listener.fault(fault)
    return 'answered_another'
  }
  return failed && message.body.kind !== 'error' ? `http_status_${status}` : null
}

/** The exchange says `aborted`, whoever has cut it. */
export function missed(observation: Observation, why: string | null): Missed {
  if (observation.kind !== 'not_sent' && observation.kind !== 'sent') {
    return sent('no_response', observation)
  }
  return observation.cause === 'aborted' && why !== null
    ? { ...observation, cause: why }
    : observation
}

/** A response that was read to its end and holds no answer: for evidence only, and nothing is confirmed by it. */
function sent(cause: string, observation: Observation): Missed {
  if (observation.kind !== 'complete') return { kind: 'sent', cause, deadline: false }
  const { status, octets } = observation.response.seen
  const { digest, length } = octets
  return {
    kind: 'sent',
    cause,
    deadline: false,
    ...(status === undefined ? {} : { status }),
    ...(length === 0 ? {} : { partial: { digest, length } }),
  }
}

export const none = (observation: Missed): McpReceived => ({ kind: 'none', observation })
