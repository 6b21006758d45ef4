import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Plain } from '../../core/json/value.js'
import type { Parts } from '../../gate/stage.js'
import type { Identified, JournalLine } from '../../ports.js'
import { readHead } from './read-request.js'
import { reservedProblem } from './reserved-problem.js'
import { sendProblem } from './respond.js'

/** `/.gate/` is the gate's own and never forwarded (DESIGN §7). */
export const isReserved = (target: string): boolean => /^\/\.gate(?:[/?]|$)/.test(target)

const ACTION = /^\/\.gate\/v1\/actions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** A caller's own actions. Another's and an unknown one are the same 404: an id is no oracle. */
export async function answerReserved(
  req: IncomingMessage,
  res: ServerResponse,
  { identity, journal }: Pick<Parts, 'identity' | 'journal'>,
): Promise<'unauthenticated' | 'answered'> {
  const { method, target, caller } = readHead(req)
  const id = ACTION.exec(target)?.[1]
  if (id === undefined || method !== 'GET') {
    sendProblem(res, reservedProblem('not_found'))
    return 'answered'
  }
  const agent = await identity.identify(caller)
  if (agent.kind === 'unknown') {
    sendProblem(res, reservedProblem('unauthenticated'))
    return 'unauthenticated'
  }
  const lines = await journal.find(id)
  const status = owns(agent, lines) ? statusOf(id, lines) : null
  if (status === null) sendProblem(res, reservedProblem('not_found'))
  else sendJson(res, status)
  return 'answered'
}

type Known = Extract<Identified, { kind: 'known' }>

/** The dispatch line names the agent; a refusal's capsule only the agent's identity and version. */
function owns(agent: Known, lines: readonly JournalLine[]): boolean {
  const dispatched = lines.find(({ type }) => type === 'ACTION_DISPATCHED')
  if (dispatched !== undefined) return dispatched.agent === agent.agent
  return lines.some((line) => capsuleOf(line)?.developer === agent.developer)
}

function statusOf(id: string, lines: readonly JournalLine[]): { [name: string]: Plain } | null {
  // Newest first: an outcome of the same action stands before the action.
  const line = lines.find((candidate) => capsuleOf(candidate)?.action_id === id)
  if (line === undefined) {
    return lines.some(({ type }) => type === 'ACTION_DISPATCHED')
      ? {
          action_id: id,
          state: 'in_flight',
          verdict: null,
          capsule_id: null,
          result_available: false,
        }
      : null
  }
  const capsule = capsuleOf(line)
  const disposition = capsule?.disposition as { verdict_class?: Plain } | undefined
  const settles = line.settles as { replayable?: Plain } | undefined
  return {
    action_id: id,
    state: 'concluded',
    verdict: disposition?.verdict_class ?? null,
    capsule_id: (capsule?.capsule_id as Plain | undefined) ?? null,
    result_available: settles?.replayable === true,
  }
}

const capsuleOf = (line: JournalLine): { readonly [member: string]: unknown } | undefined =>
  line.type === 'CAPSULE' ? (line.capsule as { readonly [member: string]: unknown }) : undefined

function sendJson(res: ServerResponse, value: { [name: string]: Plain }): void {
  const body = Buffer.from(JSON.stringify(value), 'utf8')
  res.writeHead(200, [
    'content-type',
    'application/json',
    'content-length',
    String(body.length),
    'cache-control',
    'no-store',
  ])
  res.end(body)
}
