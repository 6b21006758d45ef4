import type { ServerResponse } from 'node:http'
import type { HttpCall } from '../../core/call/call.js'
import type { Plain } from '../../core/json/value.js'
import type { Gate } from '../../gate/gate.js'
import { storedResponse } from '../../gate/replay.js'
import { withdraw } from '../../gate/resolve-withdraw.js'
import type { Parts } from '../../gate/stage.js'
import type { Approval, Identified, IndexedLine } from '../../ports.js'
import type { RequestHead } from './read-request.js'
import { type ReservedCode, reservedProblem } from './reserved-problem.js'
import { respond, sendProblem } from './respond.js'

/** `/.gate/` is the gate's own and never forwarded (DESIGN §7). */
export const isReserved = (target: string): boolean => /^\/\.gate(?:[/?]|$)/.test(target)

const ACTION = /^\/\.gate\/v1\/actions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/result)?$/

/** A caller's own actions. Another's and an unknown one are the same 404: an id is no oracle. */
export async function answerReserved(
  head: RequestHead,
  agent: Known,
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  const asked = questionOf(head.method, head.target)
  if (asked === null) sendProblem(res, reservedProblem('not_found'))
  else await answerOwner(asked, head, agent, res, gate)
}

type Question = { readonly kind: 'status' | 'result' | 'withdraw'; readonly id: string }

function questionOf(method: string, target: string): Question | null {
  const [, id, result] = ACTION.exec(target) ?? []
  if (id === undefined) return null
  if (method === 'GET') return { kind: result === undefined ? 'status' : 'result', id }
  return method === 'DELETE' && result === undefined ? { kind: 'withdraw', id } : null
}

async function answerOwner(
  { kind, id }: Question,
  head: RequestHead,
  agent: Known,
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  const { parts } = gate
  const own = await ownAction(id, agent, parts)
  const refuse = (code: ReservedCode): void => sendProblem(res, reservedProblem(code))
  if (own === null) return refuse('not_found')
  switch (kind) {
    case 'status':
      return sendJson(res, own.status)
    case 'result': {
      if (own.concluded === null) return refuse('no_result')
      const call: HttpCall = { ...head, upstream: null, body: { kind: 'unread' } }
      const answer = await gate.collect(call, agent, own.concluded)
      return answer === null ? refuse('no_result') : respond(answer, res, null, 'drained')
    }
    case 'withdraw': {
      const done = await withdraw(id, agent.agent, parts)
      if (done.kind === 'refused') return refuse(done.why === 'unknown' ? 'not_found' : 'not_open')
      const now = await ownAction(id, agent, parts)
      return now === null ? refuse('not_found') : sendJson(res, now.status)
    }
  }
}

type Known = Extract<Identified, { kind: 'known' }>
type Own = {
  readonly status: { [name: string]: Plain }
  /** The action whose response there is to collect, if one was kept. */
  readonly concluded: { readonly actionId: string; readonly capsuleId: string } | null
}

async function ownAction(id: string, agent: Known, parts: Parts): Promise<Own | null> {
  const approval = await parts.state.approval(id)
  if (approval !== null) return approval.agent === agent.agent ? waitingCall(approval, parts) : null
  const lines = await parts.journal.find(id)
  return owns(agent, lines) ? ordinaryCall(id, lines) : null
}

/** A call that was put before a human: how that stands, and what came of it. */
async function waitingCall(approval: Approval, parts: Parts): Promise<Own> {
  const { approvalId, state, parent, deadline, hitl } = approval
  const closed = state.kind === 'closed' ? state : null
  const standing = closed?.capsuleId ?? parent
  const [line] = await parts.journal.find(standing)
  const found = closed === null ? null : await parts.evidence.byAction(closed.actionId)
  const kept = found?.state === 'present' ? storedResponse(found.value) : null
  return {
    concluded: closed,
    status: {
      action_id: approvalId,
      state: closed === null ? (state.kind === 'approved' ? 'approved' : 'waiting') : 'concluded',
      verdict: closed?.verdict ?? verdictOf(line),
      capsule_id: standing,
      result_available: kept !== null,
      approval_id: approvalId,
      expires_at: deadline.at,
      on_approval: hitl.on_approval,
      concluded_by: closed?.actionId ?? null,
    },
  }
}

/** A dispatch line names its agent, and so does a refusal; one that does not is nobody's own. */
function owns({ agent }: Known, lines: readonly IndexedLine[]): boolean {
  const dispatched = lines.find((line) => line.type === 'ACTION_DISPATCHED')
  if (dispatched !== undefined) return dispatched.agent === agent
  return lines.some((line) => line.type === 'CAPSULE' && line.about?.agent === agent)
}

function ordinaryCall(id: string, lines: readonly IndexedLine[]): Own | null {
  // Newest first: an outcome of the same action stands before the action.
  const line = lines
    .filter((found) => found.type === 'CAPSULE')
    .find(({ capsule }) => capsule.action_id === id)
  if (line === undefined) {
    return lines.some(({ type }) => type === 'ACTION_DISPATCHED')
      ? { status: ordinaryStatus(id, 'in_flight', null, null, false), concluded: null }
      : null
  }
  const { capsule_id: capsuleId } = line.capsule
  const kept = line.settles?.replayable === true
  return {
    status: ordinaryStatus(id, 'concluded', verdictOf(line), capsuleId, kept),
    concluded: { actionId: id, capsuleId },
  }
}

const ordinaryStatus = (
  action_id: string,
  state: 'in_flight' | 'concluded',
  verdict: Plain,
  capsule_id: Plain,
  result_available: boolean,
): { [name: string]: Plain } => ({ action_id, state, verdict, capsule_id, result_available })

const verdictOf = (line: IndexedLine | undefined): Plain =>
  line?.type === 'CAPSULE' ? line.capsule.disposition.verdict_class : null

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
