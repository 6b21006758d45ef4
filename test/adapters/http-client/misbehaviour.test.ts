import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { createUpstream } from '../../../src/adapters/http-client/upstream.js'
import type { Upstream } from '../../../src/ports/upstream.js'
import {
  MISBEHAVIOURS,
  type Misbehaviour,
  type MisbehaviourName,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { ALLOWED, collector, complete, RULE, request } from './harness.js'

/** What each server of the matrix must be seen as. `complete` names the framing that proved the end. */
const SEEN: Readonly<Record<MisbehaviourName, string | RegExp>> = {
  'FIN on accept': /^not_sent not_quiet$|^sent closed_before_head$/,
  'RST on accept': /^not_sent (not_quiet|connect_failed.*)$|^sent reset_before_head$/,
  'FIN before the head': 'sent closed_before_head',
  'RST before the head': 'sent reset_before_head',
  'FIN in the status line': 'sent closed_in_head',
  'FIN in the head': 'sent closed_in_head',
  'RST in the head': 'sent reset_in_head',
  'FIN after the head': 'sent closed_in_body',
  'RST after the head': 'sent reset_in_body',
  'FIN in a fixed body': 'sent closed_in_body',
  'RST in a fixed body': 'sent reset_in_body',
  'FIN in a chunk': 'sent closed_in_body',
  'RST in a chunk': 'sent reset_in_body',
  'FIN before the zero chunk': 'sent closed_in_body',
  'RST before the zero chunk': 'sent reset_in_body',
  'FIN inside the zero chunk': 'sent closed_in_body',
  'FIN after a fixed body': 'complete content_length',
  'FIN after the zero chunk': 'complete chunked',
  'close-delimited body, then FIN': 'sent close_delimited',
  'close-delimited body, then RST': 'sent reset_in_body',
  'HTTP/1.0 body, then FIN': 'sent close_delimited',
  'Content-Length one too long': 'sent closed_in_body',
  'Content-Length one too short': 'sent surplus_bytes',
  'Content-Length twice, differing': 'sent conflicting_length',
  'Content-Length as a list': 'sent conflicting_length',
  'Content-Length signed': 'sent conflicting_length',
  'Content-Length in hex': 'sent conflicting_length',
  'Content-Length empty': 'sent conflicting_length',
  'Content-Length beyond safe integers': 'sent conflicting_length',
  'Content-Length beside Transfer-Encoding': 'sent conflicting_length',
  'Transfer-Encoding gzip': 'sent unknown_transfer_coding',
  'Transfer-Encoding chunked twice': 'sent unknown_transfer_coding',
  'Transfer-Encoding on HTTP/1.0': 'sent unknown_transfer_coding',
  '204 that announces a body': 'sent conflicting_length',
  '204 followed by bytes': 'sent surplus_bytes',
  'chunk size that is no number': 'sent malformed_chunk',
  'chunk size with a sign': 'sent malformed_chunk',
  'chunk size with 0x': 'sent malformed_chunk',
  'chunk size that overflows': 'sent malformed_chunk',
  'chunk longer than its size': 'sent malformed_chunk',
  'chunk lines ended by LF': 'sent malformed_chunk',
  'chunk extension without end': 'sent malformed_chunk',
  'chunk extensions': 'complete chunked',
  'trailer that is no field': 'sent malformed_trailer',
  'trailers without end': 'sent head_too_large',
  'status line of HTTP/2.0': 'sent malformed_status_line',
  'status line of HTTP/0.9': 'sent malformed_status_line',
  'status of two digits': 'sent malformed_status_line',
  'status 600': 'sent malformed_status_line',
  'garbage instead of a head': 'sent malformed_status_line',
  'binary garbage': 'sent malformed_status_line',
  'a head ended by LF': 'sent malformed_header',
  'a folded header': 'sent malformed_header',
  'NUL in a header': 'sent malformed_header',
  'bare CR in a header': 'sent malformed_header',
  'space before the colon': 'sent malformed_header',
  'a header without name': 'sent malformed_header',
  'a head of 1 MB': 'sent head_too_large',
  'ten thousand headers': 'sent head_too_large',
  'an early answer': 'sent early_answer',
  'an answer before the request': /^not_sent not_quiet$|^sent early_answer$/,
  'two answers at once': 'sent surplus_bytes',
  '101 nobody asked for': 'sent unasked_upgrade',
  '33 informational answers': 'sent informational_flood',
  'informational answers without end': 'sent informational_flood',
  'never answers': 'sent first_byte_deadline, deadline',
  'never reads': 'sent first_byte_deadline, deadline',
  'never ends the head': 'sent total_deadline, deadline',
  'never ends the body': 'sent total_deadline, deadline',
  'trickles one byte per read': 'complete chunked',
  'unasked 100 Continue': 'complete content_length',
  '32 informational answers': 'complete content_length',
  'a redirect': 'complete content_length',
  'status line without reason': 'complete content_length',
  'compressed although identity was asked': 'complete content_length',
  'RST after a fixed body': /^complete content_length$|^sent reset_/,
}
/** The only servers whose case is the deadline itself; the others must be told by what they did. */
const HANGS = /^never /
/** Only a request that the kernel cannot swallow whole can be answered before it has left. */
const EARLY = /early|before the request/
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x')

let server: RawUpstream | null = null
let upstream: Upstream | null = null
afterEach(async () => {
  await upstream?.close()
  await server?.close()
})

async function seen(name: MisbehaviourName, closeDelimited: 'refuse' | 'accept'): Promise<string> {
  const misbehaviour: Misbehaviour = MISBEHAVIOURS[name]
  server = await rawUpstream(misbehaviour.serve)
  upstream = createUpstream({ name: 'tool', origin: server.origin })
  const sink = collector()
  const observation = await upstream.send(
    request(EARLY.test(name) ? { body: LARGE } : {}),
    {
      ...RULE,
      close_delimited: closeDelimited,
      deadlines: HANGS.test(name)
        ? { connect_ms: 10_000, first_byte_ms: 150, total_ms: 300 }
        : RULE.deadlines,
    },
    sink,
    ALLOWED,
  )
  switch (observation.kind) {
    case 'complete':
      expect(observation.response.seen.octets.length).toBe(sink.body().length)
      expect(observation.response.seen.octets.digest).toBe(
        createHash('sha256').update(sink.body()).digest('hex'),
      )
      return `complete ${observation.response.seen.framing}`
    case 'sent':
      if (observation.partial !== undefined) {
        expect(observation.partial.length).toBe(sink.body().length)
      }
      return `sent ${observation.cause}${observation.deadline ? ', deadline' : ''}`
    case 'unfinished':
      throw new Error('HTTP has no such answer')
    case 'not_sent':
      expect(sink.status).toBeNull()
      return `not_sent ${observation.cause}`
    case 'claimed':
      return 'claimed'
  }
}
const matches = (text: string, expected: string | RegExp): void => {
  if (typeof expected === 'string') expect(text).toBe(expected)
  else expect(text).toMatch(expected)
}

describe('a misbehaving upstream', () => {
  it.each(Object.keys(SEEN) as MisbehaviourName[])('%s: is seen for what it is', async (name) => {
    const text = await seen(name, 'refuse')
    matches(text, SEEN[name])
    if (MISBEHAVIOURS[name].complete !== 'yes') expect(text).not.toMatch(/^complete/)
  })

  const ended = (Object.keys(MISBEHAVIOURS) as MisbehaviourName[]).filter(
    (name) => !HANGS.test(name) && MISBEHAVIOURS[name].complete !== 'yes',
  )
  it.each(ended)('%s: accepting close-delimited bodies excuses nothing else', async (name) => {
    const text = await seen(name, 'accept')
    if (MISBEHAVIOURS[name].complete === 'if_close_accepted') {
      expect(text).toBe('complete close_delimited_accepted')
    } else matches(text, SEEN[name])
  })

  it('redirects are observed, never followed', async () => {
    server = await rawUpstream(MISBEHAVIOURS['a redirect'].serve)
    upstream = createUpstream({ name: 'tool', origin: server.origin })
    const observation = complete(await upstream.send(request(), RULE, collector(), ALLOWED))
    expect(observation.response.seen.status).toBe(302)
    expect(observation.outcome).toBe('refused')
    expect(server.requests).toHaveLength(1)
  })
})
