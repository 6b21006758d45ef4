import type { Call } from '../core/call.js'
import { match as matchRule } from '../core/manifest/match.js'
import { readArgs } from '../core/manifest/read-args.js'
import type { RefusalCode } from '../core/verdict/table.js'
import type { EvidencePart } from '../ports.js'
import { advance } from './advance.js'
import { saltedPart } from './dispatch.js'
import { Exit } from './exit.js'
import { digestRequest } from './request-digest.js'
import { isHttp, type Matched, type Opened, type Parts } from './stage.js'

const UNMATCHED = {
  unmatched: 'tool_unknown',
  target_malformed: 'target_malformed',
  target_ambiguous: 'target_malformed',
} as const satisfies Record<string, RefusalCode>
const UNREADABLE = {
  body_too_large: 'body_too_large',
  body_aborted: 'body_aborted',
  body_unreadable: 'body_unreadable',
  arg_missing: 'arguments_invalid',
  arg_type: 'arguments_invalid',
  arg_ambiguous: 'arguments_invalid',
} as const satisfies Record<string, RefusalCode>

const CONSUMED =
  'a body parser ran before the gate: put the gate before express.json() and every other body parser'

/** Which tool is this, and can its arguments be read without doubt? Unmatched and unreadable end here. */
export function match(opened: Opened, parts: Parts): Matched {
  const { call, world } = opened
  const body = isHttp(call) ? call.body : null
  if (body?.kind === 'malformed') {
    const { fault } = body
    throw new Exit(opened, 'request_malformed', { observed: fault }, { fault })
  }
  if (body !== null && body.kind !== 'read') {
    if (body.kind === 'consumed') {
      const { actionId } = opened
      parts.report({ level: 'error', event: 'body_consumed', actionId, detail: CONSUMED })
    }
    throw new Exit(opened, `body_${body.kind}`)
  }
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
  const { requestDigest, requestOctets } = digestRequest(opened, rule, parts)
  return advance(known, { args: read.args, body: read.body, requestDigest, requestOctets })
}

/** What no rule names is named nowhere else: operators find it in the private record of the refusal. */
const requestLine = (call: Call, parts: Parts): EvidencePart =>
  saltedPart(
    'request',
    'unmatched',
    isHttp(call) ? { method: call.method, target: call.target } : { tool: call.tool },
    parts,
  )
