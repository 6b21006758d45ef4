import { plainEntry } from '../../core/journal/entry.js'
import type { Parts } from '../context.js'
import { perWindow } from './per-window.js'

/** A request of a server to the client of an agent: sampling, elicitation, roots. */
export type AskedByServer = {
  readonly server: string
  readonly method: string
  readonly agent: string
  /** Whether it is let through to the client. */
  readonly passed: boolean
}
/** Durable when it resolves; false: not recorded, and then it MUST NOT be let through. */
export type RecordAsk = (ask: AskedByServer) => Promise<boolean>

/** So many in a minute of one server. Each is a line, and a server that is refused can ask again at once. */
const MOST_ASKS = 600
const MINUTE_MS = 60_000
/** The method is the server's own text: what no protocol calls a method is not copied into the journal. */
const METHOD = /^[A-Za-z0-9_$./-]{1,128}$/

export function createAsks(parts: Parts, tooMany: (server: string) => void): RecordAsk {
  const mayAsk = perWindow(MOST_ASKS, MINUTE_MS, parts.clock)
  return async ({ server, method, agent, passed }) => {
    if (!mayAsk(server)) {
      tooMany(server)
      return false
    }
    const named = METHOD.test(method) ? method : 'unnamed'
    const members = { server, method: named, agent, passed }
    await parts.journal.append([plainEntry('SERVER_ASKED', members)])
    return true
  }
}
