import { outgoing } from '../../core/call/outgoing.js'
import type { ToolRule } from '../../core/manifest/model.js'
import { type Dispatch, type DispatchOrder, notSent, type Wrote } from '../../ports/dispatch.js'
import type { DispatchControl, DispatchRule, NamedUpstream } from '../../ports/upstream.js'
import type { ClientHeaders, Release } from './hold-and-release.js'
import { clientHeaders } from './response-headers.js'

export type RelayOptions = {
  readonly upstreams: ReadonlyMap<string, NamedUpstream>
  /** Aborts when a shutdown has waited long enough: what was sent is then concluded as cut. */
  readonly signal?: AbortSignal
}

/**
 * The way of a judged call to its upstream: the judged bytes go out, the response comes back through a
 * release. No release: the response would have to be held, and there is no memory for it.
 */
export function relay(
  openRelease: (rule: ToolRule, headers: ClientHeaders) => Release | null,
  { upstreams, signal }: RelayOptions,
): { readonly dispatch: Dispatch; readonly release: () => Release | null } {
  let release: Release | null = null
  const dispatch: Dispatch = async ({ call, rule, stillAllowed, saltedDigest }) => {
    const request = outgoing(call, rule)
    const to = request === null ? undefined : upstreams.get(request.upstream)
    if (request === null || to === undefined) {
      return { observation: notSent('upstream_unknown'), held: null }
    }
    const opened = openRelease(rule, (seen) =>
      clientHeaders(seen, request.target, to.origin, rule.response_location),
    )
    if (opened === null) return { observation: notSent('no_room_to_hold'), held: null }
    release = opened
    const sent = dispatchRule(rule, to, saltedDigest)
    const left: { wrote?: Wrote } = {}
    const control: DispatchControl =
      rule.intent === undefined
        ? { stillAllowed, signal }
        : {
            stillAllowed,
            signal,
            wrote(head, body) {
              left.wrote = { kind: 'http', head, body }
            },
          }
    const observation = await to.upstream.send(request, sent, opened, control)
    return { observation, held: observation.kind === 'complete' ? opened.held() : null, ...left }
  }
  return { dispatch, release: () => release }
}

function dispatchRule(
  { success, connection, close_delimited, effect, deadlines }: ToolRule,
  { deadlines: upper }: NamedUpstream,
  saltedDigest: DispatchOrder['saltedDigest'],
): DispatchRule {
  const atMost = (name: keyof typeof deadlines): number =>
    Math.min(deadlines[name], upper[name] ?? deadlines[name])
  const [connect_ms, first_byte_ms] = [atMost('connect_ms'), atMost('first_byte_ms')]
  return {
    success,
    connection,
    close_delimited,
    external_ref: effect.external_ref,
    saltedDigest,
    deadlines: { connect_ms, first_byte_ms, total_ms: atMost('total_ms') },
  }
}
