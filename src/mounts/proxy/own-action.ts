import type { ServerResponse } from 'node:http'
import type { Agent } from '../../core/call/agent.js'
import type { HttpCall } from '../../core/call/call.js'
import type { Plain } from '../../core/json/value.js'
import type { OwnAction } from '../../gate/answer/own-action.js'
import type { Gate } from '../../gate/gate.js'
import { respond, sendProblem } from '../http/respond.js'
import type { RequestHead } from './read-request.js'
import { type ReservedCode, reservedProblem } from './reserved-problem.js'

/** `/.gate/` is the gate's own and never forwarded (DESIGN §7). */
export const isReserved = (target: string): boolean => /^\/\.gate(?:[/?]|$)/.test(target)

const ACTION = /^\/\.gate\/v1\/actions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/result)?$/

/** A caller's own actions. Another's and an unknown one are the same 404: an id is no oracle. */
export async function answerReserved(
  head: RequestHead,
  agent: Agent,
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
  agent: Agent,
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  const own = await gate.read.ownAction(id, agent.agent)
  const refuse = (code: ReservedCode): void => sendProblem(res, reservedProblem(code))
  if (own === null) return refuse('not_found')
  switch (kind) {
    case 'status':
      return sendJson(res, statusOf(own))
    case 'result': {
      if (own.concluded === null) return refuse('no_result')
      const call: HttpCall = { ...head, upstream: null, body: { kind: 'unread' } }
      const answer = await gate.collect(call, agent, own.concluded)
      return answer === null ? refuse('no_result') : respond(answer, res, null, 'drained')
    }
    case 'withdraw': {
      const done = await gate.withdraw(id, agent.agent)
      if (done.kind === 'refused') return refuse(done.why === 'unknown' ? 'not_found' : 'not_open')
      const now = await gate.read.ownAction(id, agent.agent)
      return now === null ? refuse('not_found') : sendJson(res, statusOf(now))
    }
  }
}

function statusOf(own: OwnAction): { [name: string]: Plain } {
  const { asked } = own
  return {
    action_id: own.actionId,
    state: own.state,
    verdict: own.verdict,
    capsule_id: own.capsuleId,
    result_available: own.resultAvailable,
    ...(asked === null
      ? {}
      : {
          approval_id: asked.approvalId,
          expires_at: asked.deadline.at,
          on_approval: asked.hitl.on_approval,
          concluded_by: own.concluded?.actionId ?? null,
        }),
  }
}

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
