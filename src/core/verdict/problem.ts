import type { Plain } from '../json/value.js'
import { idpCode, isReject } from './idp.js'
import { type Code, TABLE, UNRECORDED, type UnrecordedCode } from './table.js'

/** RFC 9457 problem document with the Enriched DENY members; no policy text, threshold or policy id ever. */
export type Problem = {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly instance?: string
  readonly code: string
  readonly verdict: string | null
  readonly action_id?: string
  readonly capsule_id?: string
  readonly dispatched: boolean
  /** Seed intent-declaration-primitive-01 §5.2, §6.1. */
  readonly result: 'DENY' | 'REJECT' | 'SESSION_HEM_PENDING' | 'ERROR'
  /** The code of a REJECT. */
  readonly error_code?: string
  /** The declaration as it was received; null where none was, or none that counted. */
  readonly idp_received: Plain
  readonly deny_code: string
  readonly deny_reason: string
  readonly available_actions: readonly string[]
  readonly suggested_paths: readonly Plain[]
  readonly hem_available: boolean
  readonly timestamp?: string
  readonly [extra: string]: Plain | undefined
}

/** Names a section of docs/errors.md; a URN, so that no host has to answer for it. */
const PAGES = 'urn:capsule-gate:error:'

export type ProblemIds = { readonly actionId: string; readonly capsuleId: string }
type Extra = { readonly [name: string]: Plain }

/** `dispatched: true` tells a model that the tool may have acted. */
export function problem(code: Code, status: number, ids: ProblemIds, extra: Extra = {}): Problem {
  const { verdict, effect } = TABLE[code]
  return {
    ...described(code, status, TABLE[code]),
    instance: `urn:uuid:${ids.actionId}`,
    code,
    verdict,
    action_id: ids.actionId,
    capsule_id: ids.capsuleId,
    dispatched: effect !== 'none',
    result: resultOf(code),
    ...denied(code, TABLE[code]),
    ...extra,
  }
}

export function unrecordedProblem(code: UnrecordedCode, actionId?: string): Problem {
  const row = UNRECORDED[code]
  return {
    ...described(code, row.status, row),
    code,
    verdict: null,
    ...(actionId === undefined ? {} : { action_id: actionId }),
    dispatched: code === 'record_lost',
    result: 'ERROR',
    ...denied(code, row),
  }
}

type Texts = { readonly said: string; readonly instead: string }

const described = (code: string, status: number, { said, instead }: Texts) => ({
  type: `${PAGES}${code}`,
  title: said,
  status,
  detail: `${said} ${instead}`,
})

function resultOf(code: Code): Problem['result'] {
  if (isReject(code)) return 'REJECT'
  const { verdict, effect, status } = TABLE[code]
  if (status === 202) return 'SESSION_HEM_PENDING'
  return verdict === 'engine_failure' || effect !== 'none' ? 'ERROR' : 'DENY'
}

function denied(code: string, { said }: Texts) {
  const denyCode = idpCode(code, `${PAGES}${code}`)
  return {
    ...(isReject(code) ? { error_code: denyCode } : {}),
    idp_received: null,
    deny_code: denyCode,
    deny_reason: said,
    available_actions: [],
    suggested_paths: [],
    hem_available: false,
  }
}
