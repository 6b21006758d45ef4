import type { Call, HttpCall } from '../core/call.js'
import { match as matchRule } from '../core/manifest/match.js'
import { readArgs } from '../core/manifest/read-args.js'
import type { NotRead } from '../core/manifest/read-result.js'
import type { RefusalCode } from '../core/verdict/table.js'
import type { EvidencePart } from '../ports.js'
import { advance } from './advance.js'
import { saltedPart } from './dispatch.js'
import { Exit } from './exit.js'
import { digestRequest } from './request-digest.js'
import { isHttp, type Known, type Matched, type Parts, type Recognized } from './stage.js'

const UNMATCHED = {
  unmatched: 'tool_unknown',
  target_malformed: 'target_malformed',
  target_ambiguous: 'target_ambiguous',
} as const satisfies Record<string, RefusalCode>
const UNREADABLE = {
  body_too_large: 'body_too_large',
  body_aborted: 'body_aborted',
  body_unreadable: 'body_unreadable',
  body_not_read: 'body_not_read',
  arg_missing: 'arguments_invalid',
  arg_type: 'arguments_invalid',
  arg_ambiguous: 'arguments_invalid',
} as const satisfies Record<string, RefusalCode>

const CONSUMED =
  'a body parser ran before the gate: put the gate before express.json() and every other body parser'

/** Which tool is this, and can its arguments be read without doubt? Unmatched and unreadable end here. */
export function match(opened: Recognized, parts: Parts): Matched {
  const { call, world } = opened
  if (isHttp(call) && call.body.kind !== 'read') throw unreadBody(opened, call.body, parts)
  const found = matchRule(world.router, call)
  if (!found.ok) {
    const known = advance(opened, { evidence: [requestLine(call, parts)] })
    throw new Exit(known, UNMATCHED[found.code], { observed: found.code }, { fault: found.detail })
  }
  const { rule, manifest, manifestDigest } = found.route
  const mode = world.mode === 'observe' || manifest.mode === 'observe' ? 'observe' : 'enforce'
  const known = advance(opened, { rule, manifest, manifestDigest, mode })
  const read = readArgs(found, call)
  if (!read.ok) {
    throw new Exit(
      known,
      UNREADABLE[read.code],
      { observed: { fault: read.code, ...(read.arg === undefined ? {} : { argument: read.arg }) } },
      { fault: read.detail },
    )
  }
  const { args, body, notJudged, notRead } = read
  if (mode === 'enforce') refuseUnread(known, notRead)
  const { requestDigest, requestOctets } = digestRequest(opened, rule, parts)
  return advance(known, { args, body, notJudged, notRead, requestDigest, requestOctets })
}

/** Frameworks act on what the gate ignores; in observe mode the names are recorded instead (DESIGN §6). */
function refuseUnread(known: Known, { query: [name], members: [pointer] }: NotRead): void {
  if (name !== undefined) {
    const fault = `the tool does not read ${JSON.stringify(name)} from the query`
    throw new Exit(known, 'query_not_read', { observed: name }, { fault, not_read: name })
  }
  if (pointer !== undefined) {
    const fault = `the tool does not read ${pointer === '' ? 'the body' : pointer}`
    throw new Exit(known, 'member_not_read', { observed: pointer }, { fault, pointer })
  }
}

function unreadBody(
  opened: Recognized,
  body: Exclude<HttpCall['body'], { kind: 'read' }>,
  parts: Parts,
): Exit | TypeError {
  switch (body.kind) {
    case 'malformed': {
      const { fault } = body
      return new Exit(opened, 'request_malformed', { observed: fault }, { fault })
    }
    case 'too_large':
      return new Exit(opened, 'body_too_large')
    case 'aborted':
      return new Exit(opened, 'body_aborted')
    case 'consumed': {
      const { actionId } = opened
      parts.report({ level: 'error', event: 'body_consumed', actionId, detail: CONSUMED })
      return new Exit(opened, 'body_consumed')
    }
    case 'no_room':
      return new Exit(opened, 'bodies_exhausted', {}, { retry_after_seconds: 1 })
    case 'unread':
      return new TypeError("a known caller's body was left unread")
  }
}

/** What no rule names is named nowhere else: operators find it in the private record of the refusal. */
const requestLine = (call: Call, parts: Parts): EvidencePart =>
  saltedPart(
    'request',
    'unmatched',
    isHttp(call) ? { method: call.method, target: call.target } : { tool: call.tool },
    parts,
  )
