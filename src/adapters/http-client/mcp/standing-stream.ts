import { streamHeaders } from './headers.js'
import { createHearing } from './hear.js'
import { createCut, exchangeWith, type Link, NO_BODY } from './link.js'
import { Reading } from './reading.js'
import { sleep } from './sleep.js'

/** Between two streams; as long again after each that brought nothing. */
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000
const MAX_FAILURES = 5

/**
 * Until 2025-11-25: the stream on which a server says what belongs to no request. Most servers have none, and say so.
 * Resolves when there will be no more of it.
 */
export async function keepStream(link: Link, protocolVersion: string | null): Promise<void> {
  const cut = createCut()
  link.cuts.add(cut)
  let lastEventId: string | null = null
  let hasWorked = false
  let failures = 0
  let idle = 0
  const { session } = link
  while (!cut.signal.aborted && link.session === session) {
    const hearing = createHearing(link, cut, null)
    const reading = new Reading({
      maxBytes: link.maxMessageBytes,
      event: hearing.event,
      tooLong: hearing.tooLong,
      // A 404 says nothing of the session here: servers without such a stream give it too.
      head() {},
    })
    await exchangeWith(link, reading, {
      method: 'GET',
      headers: streamHeaders(protocolVersion, session, lastEventId),
      body: NO_BODY,
      totalMs: Number.POSITIVE_INFINITY,
      cut,
    })
    const opened = reading.kind === 'events'
    hasWorked ||= opened
    failures = opened ? 0 : failures + 1
    idle = hearing.heard > 0 ? 0 : idle + 1
    lastEventId = reading.lastEventId ?? lastEventId
    const refused = reading.status !== null && reading.status >= 400 && reading.status < 500
    if (refused || !hasWorked || failures >= MAX_FAILURES) break
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, idle - 1))
    await sleep(Math.max(wait, reading.retryMs ?? 0), cut.signal)
  }
  link.cuts.delete(cut)
}
