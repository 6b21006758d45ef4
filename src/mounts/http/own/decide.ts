import type { ServerResponse } from 'node:http'
import type { Agent } from '../../../core/call/agent.js'
import type { Call, FunctionCall } from '../../../core/call/call.js'
import { withDeclared } from '../../../core/call/parts.js'
import { readQuestion } from '../../../core/runtime/question.js'
import type { Gate } from '../../../gate/gate.js'
import type { BodyRoom } from '../../../gate/memory.js'
import { decide } from '../../../gate/permit/decide.js'
import { type Body, restOf } from '../read-body.js'
import { type RequestHead, withBody } from '../read-request.js'
import { respond } from '../respond.js'
import { sendJson } from './problems.js'

/**
 * `POST /.gate/v1/decide`: may I do this? A permit is answered at once, and its call lives on until it is reported
 * or over; so does the room that its octets take of the agent's share.
 */
export async function answerDecide(
  head: RequestHead,
  caller: Agent,
  { body, room }: { readonly body: Body; readonly room: BodyRoom },
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  const { told, over } = decide(gate, callOf(head, body), caller)
  void over.then(() => room.giveBack())
  const answer = await told
  if (answer.kind !== 'permit') return respond(answer, res, null, restOf(body))
  const { actionId, deadline } = answer
  const headers = [
    ['gate-verdict', 'permit'],
    ['gate-action', actionId],
  ] as const
  sendJson(res, { verdict: 'permit', action_id: actionId, deadline }, headers)
}

/** A question that cannot be read is a call that is refused, and recorded, as the request it came in. */
function callOf(head: RequestHead, body: Body): Call {
  if (body.kind !== 'read') return withBody(head, body)
  const question = readQuestion(body.bytes)
  if (!question.ok) return withBody(head, { kind: 'malformed', fault: question.fault })
  const { caller, idempotencyKey, approvalId, waitSeconds, callerLeft } = head
  const { tool, argumentsJson } = question
  const common = { caller, idempotencyKey, approvalId, waitSeconds }
  // Asked only while a person is waited for; a permit must not keep its connection in memory for a day.
  const left = waitSeconds === 0 ? {} : { callerLeft }
  const call: FunctionCall = { kind: 'function', tool, argumentsJson, ...common, ...left }
  return withDeclared(call, head.declared)
}
