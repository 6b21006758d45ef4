import type { DispatchRule } from '../../adapters/http-client/upstream.js'
import type { NamedUpstream } from '../../app/upstreams.js'
import { type Outgoing, outgoing } from '../../core/call/outgoing.js'
import type { Observation } from '../../core/capsule/observation.js'
import type { ToolRule } from '../../core/manifest/model.js'
import type { Dispatch, Dispatched, DispatchOrder } from '../../ports/dispatch.js'
import type { Release } from './machine.js'

export type RelayOptions = {
  readonly upstreams: ReadonlyMap<string, NamedUpstream>
  /** Aborts when a shutdown has waited long enough: what was sent is then concluded as cut. */
  readonly signal: AbortSignal
}

/** A judged call on its way out: what is sent, to which origin, under which rule. */
export type Leaving = {
  readonly request: Outgoing
  readonly origin: string
  readonly rule: ToolRule
}

/**
 * The proxy's way to send a call: the judged bytes to the upstream, its answer through a release. No
 * release: its answer would have to be held, and there is no memory for it.
 */
export function relay(
  openRelease: (leaving: Leaving) => Release | null,
  { upstreams, signal }: RelayOptions,
): { readonly dispatch: Dispatch; readonly release: () => Release | null } {
  let release: Release | null = null
  const dispatch: Dispatch = async ({ call, rule, stillAllowed, saltedDigest }) => {
    const request = outgoing(call, rule)
    const to = request === null ? undefined : upstreams.get(request.upstream)
    if (request === null || to === undefined) return notSent('upstream_unknown')
    const opened = openRelease({ request, origin: to.origin, rule })
    if (opened === null) return notSent('no_room_to_hold')
    release = opened
    const observation = await to.upstream.send(
      request,
      dispatchRule(rule, to, saltedDigest),
      opened,
      { stillAllowed, signal },
    )
    return { observation, held: observation.kind === 'complete' ? opened.held() : null }
  }
  return { dispatch, release: () => release }
}

function dispatchRule(
  rule: ToolRule,
  to: NamedUpstream,
  saltedDigest: DispatchOrder['saltedDigest'],
): DispatchRule {
  const { success, connection, close_delimited, effect } = rule
  const common = {
    success,
    deadlines: bounded(rule.deadlines, to.deadlines),
    connection,
    close_delimited,
    saltedDigest,
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
