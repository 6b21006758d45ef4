import { isModern } from '../../../core/mcp/methods.js'
import type { McpControl, McpReceived, McpSending } from '../../../ports/mcp.js'
import { conclude, received } from './conclude.js'
import { messageHeaders, sessionOf } from './headers.js'
import { createHearing } from './hear.js'
import { createCut, exchangeWith, type Link } from './link.js'
import { Reading } from './reading.js'
import { takeUp } from './take-up.js'

/** How long a stream may go on behind the answer, for what a server still says there. */
const DRAIN_MS = 1_000

/** One request: its POST, and the stream on which it is answered. Never rejects. */
export function ask(
  link: Link,
  sending: McpSending,
  control: McpControl,
): { readonly answer: Promise<McpReceived>; readonly over: Promise<void> } {
  let answer: (received: McpReceived) => void = () => {}
  const answered = new Promise<McpReceived>((resolve) => {
    answer = resolve
  })
  return { answer: answered, over: send(link, sending, control, answer) }
}

async function send(
  link: Link,
  { id, octets, head }: McpSending,
  { totalMs, signal, stillAllowed, wrote, connection }: McpControl,
  resolve: (received: McpReceived) => void,
): Promise<void> {
  const key = `n${id}`
  const cut = createCut()
  const onAbort = (): void => cut.now('cancelled')
  const until = totalMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + totalMs
  let drain: NodeJS.Timeout | null = null
  const asked = {
    id,
    answered: false,
    answer(event: Uint8Array) {
      asked.answered = true
      link.ended.add(key, 'answered')
      drain = setTimeout(() => cut.now('answered'), DRAIN_MS)
      resolve(received(event, 'sse_event'))
    },
  }
  link.cuts.add(cut)
  if (signal?.aborted === true) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })

  // A new session has no id before it is opened.
  const session = head.method === 'initialize' ? null : link.session
  const hearing = createHearing(link, cut, asked)
  const reading = new Reading({
    maxBytes: link.maxMessageBytes,
    event: hearing.event,
    tooLong: hearing.tooLong,
    head(status, headers) {
      if (head.method === 'initialize' && status === 200) link.session = sessionOf(headers)
      if (status === 404 && session !== null) link.sessionEnded(session)
    },
  })
  const observation = await exchangeWith(link, reading, {
    method: 'POST',
    headers: messageHeaders(head, session),
    body: octets,
    totalMs: totalMs === 0 ? until : totalMs,
    stillAllowed,
    wrote,
    connection,
    cut,
  })
  const { protocolVersion } = head
  const resumable = protocolVersion === null || !isModern(protocolVersion)
  const last =
    resumable && !asked.answered && reading.lastEventId !== null && observation.kind !== 'not_sent'
      ? await takeUp(link, { observation, reading, hearing, asked, cut, protocolVersion, until })
      : observation
  if (!asked.answered) {
    const concluded = conclude(link, id, last, reading, cut)
    const isAnswer = concluded.kind === 'message'
    if (observation.kind !== 'not_sent') link.ended.add(key, isAnswer ? 'answered' : 'given_up')
    resolve(concluded)
  }
  if (drain !== null) clearTimeout(drain)
  signal?.removeEventListener('abort', onAbort)
  link.cuts.delete(cut)
}
