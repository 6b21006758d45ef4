import type { IncomingMessage } from 'node:http'
import type { ToolRule } from '../../core/manifest/model.js'
import { DEFAULT_LIMITS } from '../proxy/options.js'

/** What request and rule say about how an answer is let out (DESIGN §3 "Release"). */
export function releaseTerms(
  { httpVersion, headers }: IncomingMessage,
  rule: Pick<ToolRule, 'hold_response'>,
  holdBytes: number | undefined,
) {
  const http10 = httpVersion === '1.0'
  const te = String(headers.te ?? '')
  return {
    holdLimit: holdBytes ?? DEFAULT_LIMITS.holdLimit,
    holdAll: rule.hold_response || http10,
    wantsTrailers: !http10 && /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i.test(te),
    stallMs: DEFAULT_LIMITS.stallMs,
  }
}
