import type { Observation } from '../../../core/capsule/observation.js'
import { streamHeaders } from './headers.js'
import type { createHearing } from './hear.js'
import { type Cut, exchangeWith, type Link, NO_BODY } from './link.js'
import { Reading } from './reading.js'
import { sleep } from './sleep.js'

/** A stream that ended before the answer, and how far it had come. */
type Interrupted = {
  readonly observation: Observation
  readonly reading: Reading
  readonly hearing: ReturnType<typeof createHearing>
  readonly asked: { readonly answered: boolean }
  readonly cut: Cut
  readonly protocolVersion: string | null
  /** As `performance.now` tells it. */
  readonly until: number
}

/** Where the server does not say: as long again after each failure. */
const FIRST_WAIT_MS = 1_000
const SHORTEST_WAIT_MS = 100
const MAX_FAILURES = 4

/**
 * Until 2025-11-25 a server may end a stream and go on with it when it is asked to: the request is not sent again,
 * only its answer is fetched. Whatever this meets, the request itself has been sent; so what is known of it without an
 * answer is what its own exchange showed.
 */
export async function takeUp(link: Link, interrupted: Interrupted): Promise<Observation> {
  const { observation, hearing, asked, cut, protocolVersion, until } = interrupted
  let { lastEventId, retryMs } = interrupted.reading
  for (let failures = 0; failures < MAX_FAILURES && !asked.answered && !cut.signal.aborted; ) {
    const wait = retryMs ?? FIRST_WAIT_MS * 2 ** failures
    await sleep(Math.min(Math.max(SHORTEST_WAIT_MS, wait), until - performance.now()), cut.signal)
    const totalMs = until - performance.now()
    if (totalMs <= 0) return late(observation)
    const reading = new Reading({
      maxBytes: link.maxMessageBytes,
      event: hearing.event,
      tooLong: hearing.tooLong,
      head() {},
    })
    const headers = streamHeaders(protocolVersion, link.session, lastEventId)
    const seen = await exchangeWith(link, reading, {
      method: 'GET',
      headers,
      body: NO_BODY,
      totalMs,
      cut,
    })
    if (reading.kind === 'events') {
      lastEventId = reading.lastEventId ?? lastEventId
      retryMs = reading.retryMs ?? retryMs
      failures = 0
    } else {
      const refused = reading.status !== null && reading.status >= 400 && reading.status < 500
      failures = refused ? MAX_FAILURES : failures + 1
    }
    if (seen.kind === 'sent' && seen.deadline) return late(observation)
  }
  return cut.signal.aborted ? { ...sentAs(observation), cause: 'aborted' } : observation
}

const late = (observation: Observation): Observation => ({
  ...sentAs(observation),
  cause: 'total_deadline',
  deadline: true,
})

function sentAs(observation: Observation): Extract<Observation, { kind: 'sent' }> {
  if (observation.kind === 'sent') return observation
  return { kind: 'sent', cause: 'stream_ended', deadline: false }
}
