import type { ServerResponse } from 'node:http'
import type { Agent } from '../../core/call/agent.js'
import type { Plain } from '../../core/json/value.js'
import { unrecordedProblem } from '../../core/verdict/problem.js'
import type { Gate } from '../../gate/gate.js'
import { statusOf } from '../http/own-status.js'
import { type RequestHead, withBody } from '../http/read-request.js'
import { respond, sendProblem } from '../http/respond.js'

/** `/.gate/` is the gate's own and never forwarded (DESIGN §7). */
export const isReserved = (target: string): boolean => /^\/\.gate(?:[/?]|$)/.test(target)

const ACTION = /^\/\.gate\/v1\/actions\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/result)?$/

const QUESTIONS: ReadonlySet<string> = new Set(['GET', 'GET/result', 'DELETE'])

/** A caller's own actions. Another's and an unknown one are the same 404: an id is no oracle. */
export async function answerReserved(
  head: RequestHead,
  caller: Agent,
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  const { agent } = caller
  const refuse = (code: ReservedCode): void => sendProblem(res, reservedProblem(code))
  const [, id, result] = ACTION.exec(head.target) ?? []
  const asked = `${head.method}${result ?? ''}`
  if (id === undefined || !QUESTIONS.has(asked)) return refuse('not_found')
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

/** Questions to the gate itself are no calls of tools: they are answered without a capsule. */
const RESERVED = {
  not_found: {
    status: 404,
    said: 'There is no such resource, or it is not yours.',
    instead: 'Ask for an action whose id you were given in Gate-Action.',
  },
  no_result: {
    status: 404,
    said: 'There is no result to collect.',
    instead:
      'Ask for the status; the result of a call is kept where its tool or an Idempotency-Key says so.',
  },
  not_open: {
    status: 409,
    said: 'The request cannot be withdrawn: it is over, halted, or being concluded.',
    instead: 'Ask for its status.',
  },
} as const
type ReservedCode = keyof typeof RESERVED

function reservedProblem(code: ReservedCode) {
  const { status, said: title, instead } = RESERVED[code]
  return {
    // The members that are the same wherever nothing was recorded and nothing dispatched.
    ...unrecordedProblem('overloaded'),
    type: `urn:capsule-gate:error:${code}`,
    title,
    status,
    detail: `${title} ${instead}`,
    code,
    deny_code: code,
    deny_reason: title,
  }
}

function sendJson(res: ServerResponse, value: { [name: string]: Plain }): void {
  const body = Buffer.from(JSON.stringify(value), 'utf8')
  res
    .writeHead(200, {
      'content-type': 'application/json',
      'content-length': body.length,
      'cache-control': 'no-store',
    })
    .end(body)
}
