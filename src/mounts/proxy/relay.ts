import type { DispatchRule } from '../../adapters/upstream/upstream.js'
import type { NamedUpstream } from '../../config/upstreams.js'
import type { HttpCall } from '../../core/call.js'
import type { Observation } from '../../core/capsule/observation.js'
import type { ToolRule } from '../../core/manifest/model.js'
import type { Dispatch, Dispatched } from '../../ports.js'
import type { Release } from '../release/machine.js'
import { frozenRequest } from './forward.js'

export type RelayOptions = {
  readonly to: NamedUpstream | undefined
  /** Secret per tenant, for tools that say `digest_salt: tenant` (seed §13). */
  readonly tenantSalt: Uint8Array
  /** Aborts when a shutdown has waited long enough: what was sent is then concluded as cut. */
  readonly signal: AbortSignal
}

/**
 * The proxy's way to send a call: the judged bytes to the upstream, its answer through a release. No
 * release: its answer would have to be held, and there is no memory for it.
 */
export function relay(
  call: HttpCall,
  openRelease: (rule: ToolRule) => Release | null,
  { to, tenantSalt, signal }: RelayOptions,
): { readonly dispatch: Dispatch; readonly release: () => Release | null } {
  let release: Release | null = null
  const dispatch: Dispatch = async ({ rule, stillAllowed }) => {
    if (to === undefined) return notSent('upstream_unknown')
    if (call.body.kind !== 'read') return notSent('body_not_read')
    const opened = openRelease(rule)
    if (opened === null) return notSent('no_room_to_hold')
    release = opened
    const observation = await to.upstream.send(
      frozenRequest(call, call.body.bytes, rule),
      dispatchRule(rule, to, tenantSalt),
      opened,
      { stillAllowed, signal },
    )
    return { observation, held: observation.kind === 'complete' ? opened.held() : null }
  }
  return { dispatch, release: () => release }
}

function dispatchRule(rule: ToolRule, to: NamedUpstream, tenantSalt: Uint8Array): DispatchRule {
  const { success, connection, close_delimited, effect } = rule
  const common = {
    success,
    deadlines: bounded(rule.deadlines, to.deadlines),
    connection,
    close_delimited,
    digest_salt: rule.digest_salt === 'tenant' ? tenantSalt : null,
  }
  return effect.external_ref === undefined
    ? common
    : { ...common, external_ref: effect.external_ref }
}

function bounded(
  { connect_ms, first_byte_ms, total_ms }: ToolRule['deadlines'],
  upper: Partial<ToolRule['deadlines']>,
): ToolRule['deadlines'] {
  return {
    connect_ms: Math.min(connect_ms, upper.connect_ms ?? connect_ms),
    first_byte_ms: Math.min(first_byte_ms, upper.first_byte_ms ?? first_byte_ms),
    total_ms: Math.min(total_ms, upper.total_ms ?? total_ms),
  }
}

const notSent = (cause: string): Dispatched => ({
  observation: { kind: 'not_sent', cause, deadline: false } satisfies Observation,
  held: null,
})
