import type { Header } from '../../core/call/call.js'
import type { ToolRule } from '../../core/manifest/model.js'
import type { Replay } from '../../gate/answer/answer.js'

/** What a client may see of an upstream's fields; hop-by-hop ones never got this far. */
export function clientHeaders(
  headers: readonly Header[],
  target: string,
  origin: string,
  location: ToolRule['response_location'],
): readonly Header[] {
  const out: Header[] = []
  for (const header of headers) {
    const name = header[0]
    // The gate's own words are the gate's: a tool cannot say them. It announces its own trailers.
    if (name.startsWith('gate-') || name === 'trailer') continue
    if (name !== 'location' || location === 'allow') out.push(header)
    else if (isOnly(headers, name)) {
      const rewritten = throughGate(header[1], target, origin)
      if (rewritten !== null) out.push(['location', rewritten])
    }
  }
  return out
}

const isOnly = (headers: readonly Header[], name: string): boolean =>
  headers.filter(([field]) => field === name).length === 1

/** A redirect that stays on the upstream leads back through the gate; any other would lead around it. */
function throughGate(location: string, target: string, origin: string): string | null {
  let url: URL
  try {
    url = new URL(location, `${origin}${target}`)
  } catch {
    return null
  }
  if (url.origin !== origin || url.username !== '' || url.password !== '') return null
  // A path that itself starts with two slashes would read as another host.
  return url.pathname.startsWith('//') ? null : `${url.pathname}${url.search}${url.hash}`
}

const EVENT_STREAM = /^text\/event-stream[ \t]*(?:;|$)/i

export const isEventStream = (headers: readonly Header[]): boolean =>
  headers.some((header) => header[0] === 'content-type' && EVENT_STREAM.test(header[1]))

/** As writeHead takes them: name, value, name, value. */
export function flat(headers: readonly Header[]): string[] {
  const out: string[] = []
  for (const header of headers) out.push(header[0], header[1])
  return out
}

/** As trailers and `Headers` take them. */
export const pairs = (headers: readonly Header[]): [string, string][] =>
  headers.map(([name, value]) => [name, value])

export type Recorded = {
  readonly actionId: string
  readonly capsuleId: string
  readonly verdict: string
}
export const gateHeaders = ({ actionId, capsuleId, verdict }: Recorded): readonly Header[] => [
  ['gate-verdict', verdict],
  ['gate-action', actionId],
  ['gate-capsule', capsuleId],
]

/** Only complete responses are kept, and of those the status alone tells the verdict (DESIGN §6). */
export const replayHeaders = ({ response, actionId, capsuleId }: Replay): readonly Header[] => {
  const verdict = response.status >= 500 ? 'errored' : 'executed'
  return [...gateHeaders({ actionId, capsuleId, verdict }), ['gate-replayed', 'true']]
}
