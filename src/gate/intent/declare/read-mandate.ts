import type { Call, Caller } from '../../../core/call/call.js'
import type { Mandate } from '../../../core/intent/model.js'
import type { Parts } from '../../context.js'

/** What a call or a question shows as its mandate. */
export type ShownMandate =
  | { readonly kind: 'valid'; readonly mandate: Mandate }
  | { readonly kind: 'missing' }
  /** Its header twice, or two carriers that differ; `fault` says which. */
  | { readonly kind: 'malformed'; readonly fault: string }
  | { readonly kind: 'invalid'; readonly why: string }
  | { readonly kind: 'unverifiable'; readonly why: string }
  | { readonly kind: 'revoked'; readonly mandate: Mandate }

/** Whether the caller is identified by a mandate that was revoked: it is no credential any more. */
export async function bearsRevoked(
  caller: Caller,
  { mandates, state }: Pick<Parts, 'mandates' | 'state'>,
): Promise<boolean> {
  const { bearer } = caller
  if (bearer === null || !mandates.isOne(bearer)) return false
  const read = await mandates.read(bearer, caller)
  return read.kind === 'valid' && state.isRevoked(read.mandate.id)
}

/** As Agent-Mandate or as bearer token, and the same one where it is both; another agent's is invalid. */
export async function readMandate(
  { caller, declared }: Pick<Call, 'caller' | 'declared'>,
  agent: string,
  { mandates, state }: Pick<Parts, 'mandates' | 'state'>,
): Promise<ShownMandate> {
  const brought = declared?.kind === 'carried' ? declared : null
  const carried = brought?.mandate ?? null
  const fault = brought?.fault ?? null
  if (fault?.startsWith('mandate') === true) return { kind: 'malformed', fault }
  const { bearer } = caller
  const borne = bearer !== null && mandates.isOne(bearer) ? bearer : null
  if (carried !== null && borne !== null && carried !== borne) {
    return { kind: 'malformed', fault: 'mandate_carriers_differ' }
  }
  const token = carried ?? borne
  if (token === null) return { kind: 'missing' }
  const read = await mandates.read(token, caller)
  if (read.kind === 'unavailable') return { kind: 'unverifiable', why: read.why }
  if (read.kind === 'invalid') return read
  const { mandate } = read
  if (mandate.agent !== agent) return { kind: 'invalid', why: 'another_agent' }
  return (await state.isRevoked(mandate.id)) ? { kind: 'revoked', mandate } : read
}
