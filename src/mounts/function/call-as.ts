import { MAX_WAIT_SECONDS } from '../http/limits.js'

/** On whose behalf the application calls. It vouches for the agent: no credential passes here. */
export type CallAs = {
  readonly agent: string
  readonly idempotencyKey?: string
  /** An approval to use; an id, no credential. */
  readonly approvalId?: string
  /** How long to wait for a human, at most 20 (DESIGN §3 "Approval"). */
  readonly waitSeconds?: number
}

type Given = { readonly [member in keyof CallAs]: CallAs[member] | null | undefined }

/** The members of a call that say who makes it. */
export function inProcess({ agent, idempotencyKey, approvalId, waitSeconds }: Given) {
  if (typeof agent !== 'string' || agent === '') throw new TypeError('a gated call names its agent')
  return {
    caller: { bearer: null, certificate: null, asserted: agent, source: 'in-process' },
    idempotencyKey: idempotencyKey ?? null,
    approvalId: approvalId ?? null,
    waitSeconds: Math.min(MAX_WAIT_SECONDS, Math.max(0, waitSeconds ?? 0)),
  }
}
