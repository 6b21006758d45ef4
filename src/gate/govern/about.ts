import type { About } from '../../core/journal/lines/call.js'
import type { Approval } from '../../ports/state.js'
import type { Ending } from './exit.js'

type Told = { readonly about?: About }

/** A refusal's own line says whose it was: no line before it does (DESIGN §5). */
export function aboutEnding({ exit, known }: Ending): Told {
  const { identified, rule, requestDigest } = known
  if (exit === 'sent' || identified.kind === 'unknown') return {}
  return {
    about: {
      agent: identified.agent,
      ...(rule === undefined ? {} : { tool: rule.tool }),
      ...(requestDigest === undefined ? {} : { request_digest: requestDigest }),
    },
  }
}

/** What becomes of an item is about the call it asked about. */
export const aboutApproval = ({ agent, tool, requestDigest }: Approval): Told => ({
  about: { agent, tool, request_digest: requestDigest },
})
