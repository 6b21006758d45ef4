import type { FunctionCall } from '../../core/call/call.js'
import { declaredOf } from '../../core/intent/carry.js'
import { type DeclaredHeaders, NONE_DECLARED } from '../http/declared.js'
import { MAX_WAIT_SECONDS } from '../http/limits.js'

/** On whose behalf the application calls. It vouches for the agent: no credential passes here. */
export type CallAs = {
  readonly agent: string
  readonly idempotencyKey?: string
  /** An approval to use; an id, no credential. */
  readonly approvalId?: string
  /** How long to wait for a human, at most 20 (DESIGN §3 "Approval"). */
  readonly waitSeconds?: number
  /** The agent's declaration: its JSON text, or an object to be written as JSON. */
  readonly intent?: string | object
  /** The mandate under which the agent acts, as a JWT. */
  readonly mandate?: string
}

type Given = { readonly [member in keyof CallAs]: CallAs[member] | null | undefined }

/** The members of a call that say who makes it, and what it declares of it. */
type InProcess = Pick<
  FunctionCall,
  'caller' | 'idempotencyKey' | 'approvalId' | 'waitSeconds' | 'declared'
>
export function inProcess(
  { agent, idempotencyKey, approvalId, waitSeconds, intent, mandate }: Given,
  /** Where the call itself has a head. */
  headers: DeclaredHeaders = NONE_DECLARED,
): InProcess {
  if (typeof agent !== 'string' || agent === '') throw new TypeError('a gated call names its agent')
  const declared = declaredOf({
    ...headers,
    meta: {
      ...(intent == null ? {} : { intent: textOf(intent) }),
      ...(mandate == null ? {} : { mandate }),
    },
  })
  return {
    caller: { bearer: null, certificate: null, asserted: agent, source: 'in-process' },
    idempotencyKey: idempotencyKey ?? null,
    approvalId: approvalId ?? null,
    waitSeconds: Math.min(MAX_WAIT_SECONDS, Math.max(0, waitSeconds ?? 0)),
    ...(declared === undefined ? {} : { declared }),
  }
}

/** What cannot be written as JSON is no call, like one that names no agent. */
function textOf(intent: string | object): string {
  if (typeof intent === 'string') return intent
  const text: string | undefined = JSON.stringify(intent)
  if (text === undefined) throw new TypeError('an intent is a JSON text or an object')
  return text
}
