import { createEndedIds } from '../../../core/mcp/ended-ids.js'
import { isModern } from '../../../core/mcp/methods.js'
import { notSent } from '../../../ports/dispatch.js'
import type { McpConnection, McpHead, McpListener } from '../../../ports/mcp.js'
import { ask } from './ask.js'
import { none } from './conclude.js'
import { messageHeaders, sessionHeaders } from './headers.js'
import { createCut, exchangeWith, type Link, NO_BODY } from './link.js'
import { Reading } from './reading.js'
import type { HttpMcpServerOptions } from './server.js'
import { keepStream } from './standing-stream.js'

const TELL_MS = 10_000
const FAREWELL_MS = 2_000
const INITIALIZED = 'notifications/initialized'

/** One client's way to a server: its session, if the server opens one, and what is under way. */
export function openConnection(
  options: HttpMcpServerOptions & { readonly target: string },
  listener: McpListener,
): McpConnection {
  const { name, upstream, target, maxMessageBytes, report } = options
  const running = new Set<Promise<unknown>>()
  /** One after the other, in the order in which they were told. */
  let told: Promise<void> = Promise.resolve()
  let heldBytes = 0
  /** The server is being told that the client is ready; requests come after that. */
  let opening: Promise<void> | null = null
  let version: string | null = null
  let over: string | null = null
  let closing: Promise<void> | null = null

  const link: Link = {
    upstream,
    target,
    maxMessageBytes,
    listener,
    ended: createEndedIds(),
    cuts: new Set(),
    session: null,
    sessionEnded(session) {
      if (link.session !== session) return
      link.session = null
      if (over !== null) return
      over = 'session_ended'
      listener.closed({ why: over })
    },
  }
  const run = <T>(work: Promise<T>): Promise<T> => {
    const watched = work.finally(() => running.delete(watched))
    running.add(watched)
    return watched
  }

  /** An exchange of whose response only the status counts. */
  const exchangeFor = async (
    method: 'POST' | 'DELETE',
    headers: ReturnType<typeof messageHeaders>,
    body: Uint8Array,
    totalMs: number,
  ): Promise<string> => {
    const { session } = link
    const cut = createCut()
    link.cuts.add(cut)
    const ignore = (): void => {}
    const head = (status: number): void => {
      if (status === 404 && session !== null && method === 'POST') link.sessionEnded(session)
    }
    const reading = new Reading({ maxBytes: maxMessageBytes, head, event: ignore, tooLong: ignore })
    const observation = await exchangeWith(link, reading, { method, headers, body, totalMs, cut })
    link.cuts.delete(cut)
    if (reading.status !== null) return `http_status_${reading.status}`
    return 'cause' in observation ? observation.cause : 'no_response'
  }

  const lost = (head: McpHead, why: string): void => {
    const detail = `MCP server ${name}: ${head.method ?? 'a response'} was not taken (${why})`
    report({ level: 'warn', event: 'mcp_message_lost', detail })
  }
  const deliver = async (octets: Uint8Array, head: McpHead): Promise<void> => {
    const outcome = await exchangeFor('POST', messageHeaders(head, link.session), octets, TELL_MS)
    heldBytes -= octets.length
    if (!outcome.startsWith('http_status_2')) {
      lost(head, outcome)
    } else if (head.method === INITIALIZED && over === null && !isModern(version ?? '')) {
      void run(keepStream(link, version))
    }
  }

  return {
    async request(sending, control) {
      const started = performance.now()
      if (sending.head.method !== 'initialize') await opening
      if (over !== null) return none(notSent(over))
      const left = control.totalMs - (performance.now() - started)
      if (control.totalMs !== 0 && left <= 0) return none(notSent('total_deadline', true))
      const totalMs = control.totalMs === 0 ? 0 : left
      version = sending.head.protocolVersion ?? version
      const { answer, over: exchanged } = ask(link, sending, { ...control, totalMs })
      void run(exchanged)
      return answer
    },
    tell(octets, head) {
      if (over !== null) return
      if (heldBytes > 0 && heldBytes + octets.length > maxMessageBytes) {
        lost(head, 'too much waits to be told')
        return
      }
      version = head.protocolVersion ?? version
      heldBytes += octets.length
      told = run(told.then(() => (over === null ? deliver(octets, head) : undefined)))
      if (head.method === INITIALIZED) opening = told
    },
    close() {
      closing ??= (async () => {
        const toldAlready = over !== null
        over ??= 'closed'
        for (const cut of link.cuts) cut.now('closed')
        await Promise.all(running)
        // A server that does not want to be told says 405, and nothing depends on it.
        if (link.session !== null) {
          const headers = sessionHeaders(version, link.session)
          await exchangeFor('DELETE', headers, NO_BODY, FAREWELL_MS)
        }
        if (!toldAlready) listener.closed({ why: 'closed' })
      })()
      return closing
    },
  }
}
