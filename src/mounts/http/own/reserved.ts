import type { ServerResponse } from 'node:http'
import type { Agent } from '../../../core/call/agent.js'
import type { Gate } from '../../../gate/gate.js'
import type { BodyRoom } from '../../../gate/memory.js'
import type { Body } from '../read-body.js'
import { type RequestHead, withBody } from '../read-request.js'
import { respond, sendProblem } from '../respond.js'
import { answerDecide } from './decide.js'
import { type ReservedCode, reservedProblem, sendJson } from './problems.js'
import { answerReport, MOST_REPORTED } from './report.js'
import { statusOf } from './status.js'
import { answerTransitions, asksTransitions } from './transitions.js'

/** `/.gate/` is the gate's own and never forwarded (DESIGN §7). */
export const isReserved = (target: string): boolean => /^\/\.gate(?:[/?]|$)/.test(target)

const DECIDE = '/.gate/v1/decide'
const ACTION =
  /^\/\.gate\/v1\/actions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/result|\/report)?$/

/** Reads what follows the head, at most so many octets if the mount's own limit is not lower. */
export type ReadRest = (room: BodyRoom, most?: number) => Promise<Body>

/** What an agent asks of the gate itself, on every HTTP mount: verdicts, reports, its own actions, and what it may do next. */
export async function answerReserved(
  head: RequestHead,
  caller: Agent,
  res: ServerResponse,
  gate: Gate,
  readRest: ReadRest,
): Promise<void> {
  const { method, target } = head
  if (asksTransitions(head)) return answerTransitions(head, caller, res, gate)
  const [, id, part = ''] = ACTION.exec(target) ?? []
  if (method === 'POST' && target === DECIDE) {
    const room = gate.memory.bodyOf(caller.agent)
    const body = await readAll(res, room, readRest)
    return answerDecide(head, caller, { body, room }, res, gate)
  }
  if (await gate.read.bearsRevoked(head.caller)) {
    return sendProblem(res, reservedProblem('mandate_revoked'))
  }
  if (method === 'POST' && id !== undefined && part === '/report') {
    const room = gate.memory.bodyOf(caller.agent)
    try {
      const body = await readAll(res, room, readRest, MOST_REPORTED)
      return await answerReport(id, caller, body, res, gate)
    } finally {
      room.giveBack()
    }
  }
  const asked = `${method}${part}`
  if (id === undefined || !QUESTIONS.has(asked)) {
    return sendProblem(res, reservedProblem('not_found'))
  }
  return answerOwnAction(id, asked, head, caller, res, gate)
}

async function readAll(
  res: ServerResponse,
  room: BodyRoom,
  readRest: ReadRest,
  most?: number,
): Promise<Body> {
  try {
    const body = await readRest(room, most)
    // What is left of an unread body would be read as the next request's head.
    if (body.kind !== 'read') res.shouldKeepAlive = false
    return body
  } catch (error) {
    room.giveBack()
    throw error
  }
}

const QUESTIONS: ReadonlySet<string> = new Set(['GET', 'GET/result', 'DELETE'])

/** A caller's own actions. Another's and an unknown one are the same 404: an id is no oracle. */
async function answerOwnAction(
  id: string,
  asked: string,
  head: RequestHead,
  caller: Agent,
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  const { agent } = caller
  const refuse = (code: ReservedCode): void => sendProblem(res, reservedProblem(code))
  const own = await gate.read.ownAction(id, agent)
  if (own === null) return refuse('not_found')
  switch (asked) {
    case 'GET':
      return sendJson(res, statusOf(own))
    case 'GET/result': {
      if (own.concluded === null) return refuse('no_result')
      const call = withBody(head, { kind: 'unread' })
      const answer = await gate.collect(call, caller, own.concluded)
      return answer === null ? refuse('no_result') : respond(answer, res, null, 'drained')
    }
    case 'DELETE': {
      const done = await gate.withdraw(id, agent)
      if (done.kind === 'refused') return refuse(done.why === 'unknown' ? 'not_found' : 'not_open')
      const now = await gate.read.ownAction(id, agent)
      return now === null ? refuse('not_found') : sendJson(res, statusOf(now))
    }
  }
}
