import type { UnreadBody } from '../../core/call/call.js'
import { digestRequest } from '../../core/call/digest.js'
import { malformedInWords } from '../../core/call/malformed.js'
import { bodyOf, definitionOf, requestLine, routeCall } from '../../core/call/parts.js'
import type { Mode } from '../../core/capsule/model.js'
import type { Manifest } from '../../core/manifest/model.js'
import { match as matchRule } from '../../core/manifest/route/match.js'
import { withHint } from '../../core/manifest/route/match-server.js'
import { readArgs } from '../../core/manifest/route/read-args.js'
import type { NotRead } from '../../core/manifest/route/read-result.js'
import type { RefusalCode } from '../../core/verdict/table.js'
import type { Known, Matched, Parts, Recognized, World } from '../context.js'
import { saltedPart } from '../evidence/parts.js'
import { advance } from './advance.js'
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

/** Which tool is this, and can its arguments be read without doubt? If not, it leaves here. */
export function match(begun: Recognized, parts: Parts): Matched | Refused {
  const { world } = begun
  const received = bodyOf(begun.call)
  if (received.kind !== 'read') return unreadBody(begun, received, parts)
  const found = matchRule(world.router, begun.call)
  if (!found.ok) {
    // No rule names the request, so it is kept here alone, for operators who look for it.
    const request = saltedPart('request', 'unmatched', requestLine(begun.call), parts)
    const known = advance(begun, { evidence: [request] })
    return refuse(known, UNMATCHED[found.code], { observed: found.code }, { fault: found.detail })
  }
  const { manifest, manifestDigest } = found.route
  const rule = withHint(found.route.rule, definitionOf(begun.call))
  const mode = modeOf(world, manifest)
  const call = routeCall(begun.call, received, found.upstream)
  const { requestDigest, requestOctets } = digestRequest(call, rule, parts)
  const known = advance(begun, {
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

/** The gate and a manifest can each relax enforcement. */
export const modeOf = (world: World, manifest: Pick<Manifest, 'mode'> | undefined): Mode =>
  world.mode === 'observe' || manifest?.mode === 'observe' ? 'observe' : 'enforce'

/** Frameworks may act on what the gate does not read; in observe mode the names are recorded instead (DESIGN §6). */
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

function unreadBody(begun: Recognized, body: UnreadBody, parts: Parts): Refused {
  const { actionId } = begun
  switch (body.kind) {
    case 'malformed': {
      const details = { fault: malformedInWords(body.fault) }
      return refuse(begun, 'request_malformed', { observed: body.fault }, details)
    }
    case 'too_large':
      return refuse(begun, 'body_too_large')
    case 'aborted':
      return refuse(begun, 'body_aborted')
    case 'consumed':
      parts.report({ level: 'error', event: 'body_consumed', actionId, detail: CONSUMED })
      return refuse(begun, 'body_consumed')
    case 'no_room':
      return refuse(begun, 'bodies_exhausted', {}, { retry_after_seconds: 1 })
    case 'unread':
      parts.report({ level: 'error', event: 'gate_failed', actionId, detail: UNREAD })
      return refuse(begun, 'gate_failed')
  }
}
