import type { Call, UnreadBody } from '../../core/call/call.js'
import { digestRequest } from '../../core/call/digest.js'
import { malformedInWords } from '../../core/call/malformed.js'
import { bodyOf, requestLine, routeCall } from '../../core/call/parts.js'
import { match as matchRule } from '../../core/manifest/route/match.js'
import { readArgs } from '../../core/manifest/route/read-args.js'
import type { NotRead } from '../../core/manifest/route/read-result.js'
import type { RefusalCode } from '../../core/verdict/table.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Known, Matched, Parts, Recognized } from '../context.js'
import { advance } from './advance.js'
import { saltedPart } from './dispatch.js'
import { type Refused, refuse } from './exit.js'

const UNMATCHED = {
  unmatched: 'tool_unknown',
  target_malformed: 'target_malformed',
  target_ambiguous: 'target_ambiguous',
} as const satisfies Record<string, RefusalCode>
const UNREADABLE = {
  body_unreadable: 'body_unreadable',
  body_not_read: 'body_not_read',
  arg_missing: 'arguments_invalid',
  arg_type: 'arguments_invalid',
  arg_ambiguous: 'arguments_invalid',
} as const satisfies Record<string, RefusalCode>

const CONSUMED =
  'a body parser ran before the gate: put the gate before express.json() and every other body parser'

const UNREAD = 'the mount left the body of a known caller unread'

/** Which tool is this, and can its arguments be read without doubt? Unmatched and unreadable end here. */
export function match(opened: Recognized, parts: Parts): Matched | Refused {
  const { world } = opened
  const received = bodyOf(opened.call)
  if (received.kind !== 'read') return unreadBody(opened, received, parts)
  const found = matchRule(world.router, opened.call)
  if (!found.ok) {
    const known = advance(opened, { evidence: [unmatchedPart(opened.call, parts)] })
    return refuse(known, UNMATCHED[found.code], { observed: found.code }, { fault: found.detail })
  }
  const { rule, manifest, manifestDigest } = found.route
  const mode = world.mode === 'observe' || manifest.mode === 'observe' ? 'observe' : 'enforce'
  const call = routeCall(opened.call, received, found.upstream)
  const { requestDigest, requestOctets } = digestRequest(call, rule, parts)
  const known = advance(opened, {
    call,
    rule,
    manifest,
    manifestDigest,
    mode,
    requestDigest,
    requestOctets,
  })
  const read = readArgs(found, call)
  if (!read.ok) {
    return refuse(
      known,
      UNREADABLE[read.code],
      { observed: { fault: read.code, ...(read.arg === undefined ? {} : { argument: read.arg }) } },
      { fault: read.detail },
    )
  }
  const { args, body, notJudged, notRead } = read
  const unread = mode === 'enforce' ? unreadName(known, notRead) : null
  if (unread !== null) return unread
  return advance(known, { args, body, notJudged, notRead })
}

/** Frameworks act on what the gate ignores; in observe mode the names are recorded instead (DESIGN §6). */
function unreadName(known: Known, { query: [name], members: [pointer] }: NotRead): Refused | null {
  if (name !== undefined) {
    const fault = `the tool does not read ${JSON.stringify(name)} from the query`
    return refuse(known, 'query_not_read', { observed: name }, { fault, not_read: name })
  }
  if (pointer !== undefined) {
    const fault = `the tool does not read ${pointer === '' ? 'the body' : pointer}`
    return refuse(known, 'member_not_read', { observed: pointer }, { fault, pointer })
  }
  return null
}

function unreadBody(opened: Recognized, body: UnreadBody, parts: Parts): Refused {
  const { actionId } = opened
  switch (body.kind) {
    case 'malformed': {
      const { fault } = body
      const tell = { fault: malformedInWords(fault) }
      return refuse(opened, 'request_malformed', { observed: fault }, tell)
    }
    case 'too_large':
      return refuse(opened, 'body_too_large')
    case 'aborted':
      return refuse(opened, 'body_aborted')
    case 'consumed':
      parts.report({ level: 'error', event: 'body_consumed', actionId, detail: CONSUMED })
      return refuse(opened, 'body_consumed')
    case 'no_room':
      return refuse(opened, 'bodies_exhausted', {}, { retry_after_seconds: 1 })
    case 'unread':
      parts.report({ level: 'error', event: 'gate_failed', actionId, detail: UNREAD })
      return refuse(opened, 'gate_failed')
  }
}

/** What no rule names is named nowhere else: operators find it in the private record of the refusal. */
const unmatchedPart = (call: Call, parts: Parts): EvidencePart =>
  saltedPart('request', 'unmatched', requestLine(call), parts)
