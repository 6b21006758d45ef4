import { bytesDigest } from '../../core/json/build.js'
import { isBlank, Lines } from '../../core/mcp/lines.js'
import { readMessage } from '../../core/mcp/message.js'
import type { McpFault, McpListener } from '../../ports/mcp.js'
import { nodeCrypto } from '../crypto-node.js'
import { createBudget } from './budget.js'
import { startChild } from './child.js'
import { createOutbox, isOneLine } from './outbox.js'
import { createRequests, none } from './requests.js'
import type { StdioConnection, StdioServerOptions } from './server.js'

/** Faults told at once, and each second from then on: each becomes a line of the journal. */
const FAULTS = 64
const FAULTS_PER_SECOND = 8

/** One process and what is said with it: a line is a message, and a message a line. */
export function openConnection(
  options: StdioServerOptions,
  listener: McpListener,
): StdioConnection {
  const { name, command, maxMessageBytes, report } = options
  const outbox = createOutbox((line, done) => child?.write(line, done))
  const requests = createRequests(outbox)
  const faults = createBudget(FAULTS, FAULTS_PER_SECOND)
  let untold = 0
  let lost = 0
  let heldBytes = 0
  /** Why nothing leaves any more. */
  let over: string | null = null

  const tell = (event: string, what: string): void =>
    report({ level: 'error', event, detail: `MCP server ${name}: ${what}` })
  const fault = (what: McpFault): void => {
    if (faults.take(1)) {
      listener.fault(what)
      return
    }
    untold++
    child?.pause()
  }
  const lines = new Lines(maxMessageBytes, (octets) => {
    if (over === 'message_too_long' || isBlank(octets)) return
    const read = readMessage(octets, maxMessageBytes)
    if (!read.ok) {
      fault(read.fault)
    } else if (read.message.kind === 'response') {
      const wrong = requests.answer(read.message.id.key, octets)
      if (wrong !== null) fault(wrong)
    } else {
      listener.message(octets, null)
    }
  })
  /** What waits ends as not sent, what has left as sent. */
  const end = (cause: string, rest?: Uint8Array): void => {
    over ??= cause
    const seen = rest === undefined || rest.length === 0 ? undefined : digested(rest)
    requests.giveUpAll(cause, seen)
    outbox.clear()
  }

  const child = startChild(options, {
    output(chunk) {
      if (over === 'message_too_long' || lines.push(chunk)) return
      listener.fault('message_too_long')
      end('message_too_long', lines.rest())
      child?.abort('message_too_long')
    },
    deaf() {
      over ??= 'stdin_closed'
      requests.giveUpQueued('stdin_closed')
    },
    silent: () => end('child_gone', lines.rest()),
    gone(ended) {
      end('child_gone', lines.rest())
      if (child === null) {
        tell(
          'mcp_start_failed',
          `${command} cannot be started (${ended.why}); is it installed, and its folder there?`,
        )
      }
      if (untold > 0) tell('mcp_faults', `${untold} more faulty messages than were recorded`)
      if (lost > 0)
        tell('mcp_messages_lost', `it did not read: ${lost} messages to it were dropped`)
      listener.closed(ended)
    },
  })
  if (child === null) over = 'start_failed'

  return {
    request(sending, control) {
      if (over !== null) return none(over)
      return isOneLine(sending.octets)
        ? requests.send(sending, control)
        : none('unsendable_request')
    },
    tell(octets) {
      if (over !== null) return
      if (!isOneLine(octets) || (heldBytes > 0 && heldBytes + octets.length > maxMessageBytes)) {
        lost++
        return
      }
      heldBytes += octets.length
      outbox.put({
        octets,
        mayLeave: () => true,
        left() {
          heldBytes -= octets.length
        },
      })
    },
    kill: (signal) => child?.kill(signal),
    async close() {
      end('closed')
      await child?.stop('closed')
    },
  }
}

const digested = (octets: Uint8Array): { digest: string; length: number } => ({
  digest: bytesDigest(octets, nodeCrypto),
  length: octets.length,
})
