import { witness } from '../../adapters/http-client/witness.js'
import type { ToolRule } from '../../core/manifest/model.js'
import type { Dispatched, DispatchOrder } from '../../ports/dispatch.js'
import type { HandlerEnd } from './intercept.js'

/** How a handler's run becomes an observation: confirmed only out of an end of its own that was seen. */
export function observed(
  end: HandlerEnd,
  rule: ToolRule,
  { relayed, saltedDigest }: { readonly relayed: boolean } & Pick<DispatchOrder, 'saltedDigest'>,
): Dispatched {
  if (end.kind === 'broken') {
    const { kind: _, ...seen } = end
    return { observation: { kind: 'sent', ...seen }, held: null }
  }
  const { head, body, held } = end
  // Behind a proxy of somebody else's nobody saw whether the answer was whole (DESIGN §2.3).
  if (relayed) return { observation: { kind: 'claimed', ok: head.status < 500 }, held }
  const { external_ref } = rule.effect
  return {
    observation: witness(head, 'handler_end', body, {
      success: rule.success,
      saltedDigest,
      ...(external_ref === undefined ? {} : { external_ref }),
    }),
    held,
  }
}
