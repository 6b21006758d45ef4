import { utf8 } from '../../core/bytes/text.js'
import type { Agent } from '../../core/call/agent.js'
import type { FunctionCall } from '../../core/call/call.js'
import { withDeclared } from '../../core/call/parts.js'
import { objectOf, type Request, resultOctets } from '../../core/mcp/message.js'
import { OWN_PREFIX } from '../../core/mcp/meta.js'
import { readQuestion } from '../../core/runtime/question.js'
import { readReport } from '../../core/runtime/report.js'
import type { Problem } from '../../core/verdict/problem.js'
import { decide } from '../../gate/permit/decide.js'
import { reservedProblem } from '../http/own/problems.js'
import { statusOf } from '../http/own/status.js'
import { mandateProblem, transitionsOf } from '../http/own/transitions.js'
import { type Asked, protocolError, refusal, released } from './call/answer.js'
import { declaredIn } from './call/declared.js'
import { unreadCall } from './call/unread.js'
import type { McpGate, Reply, Sender, Served } from './options.js'

/** `/.gate/v1` for clients that have no HTTP: verdicts, reports, an agent's own actions, and what is open to it. No server sees them. */
export const isOwnMethod = (method: string): boolean => method.startsWith(OWN_PREFIX)

type Asking = {
  readonly request: Request
  readonly agent: Agent
  readonly sender: Sender
  readonly gate: McpGate
  readonly served: Served
}
const METHODS: Readonly<Record<string, (asking: Asking) => Promise<Reply>>> = {
  [`${OWN_PREFIX}actions/get`]: (asking) => withAction(asking, status),
  [`${OWN_PREFIX}actions/result`]: (asking) => withAction(asking, result),
  [`${OWN_PREFIX}actions/withdraw`]: (asking) => withAction(asking, withdraw),
  [`${OWN_PREFIX}decide`]: permit,
  [`${OWN_PREFIX}report`]: (asking) => withAction(asking, report),
  [`${OWN_PREFIX}transitions`]: transitions,
}

export async function ownReply(
  request: Request,
  sender: Sender,
  of: { readonly gate: McpGate; readonly served: Served },
): Promise<Reply> {
  const { identified: agent } = sender
  const method = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : undefined
  if (method === undefined || agent.kind !== 'known') {
    return protocolError(request.id, -32601, `The gate has no method ${request.method}.`)
  }
  return method({ request, agent, sender, ...of })
}

const wrong = ({ request }: Asking, said: string): Reply => protocolError(request.id, -32602, said)
const right = ({ request }: Asking, value: object): Reply => ({
  octets: resultOctets(request.id, JSON.stringify({ resultType: 'complete', ...value })),
  status: 200,
  problem: null,
  code: null,
})
const NOT_FOUND = 'There is no such action, or it is not yours.'

async function withAction(
  asking: Asking,
  then: (asking: Asking, actionId: string) => Promise<Reply>,
): Promise<Reply> {
  const { request, gate, sender } = asking
  if (await gate.read.bearsRevoked(sender.caller))
    return refused(asking, reservedProblem('mandate_revoked'))
  const id = request.params.value.get('action_id')
  return typeof id === 'string' ? then(asking, id) : wrong(asking, 'params need action_id.')
}

async function status(asking: Asking, actionId: string): Promise<Reply> {
  const own = await asking.gate.read.ownAction(actionId, asking.agent.agent)
  return own === null ? wrong(asking, NOT_FOUND) : right(asking, statusOf(own))
}

/** The kept answer of a call, as the call itself would have been given it. */
async function result(asking: Asking, actionId: string): Promise<Reply> {
  const { gate, agent, sender, served, request } = asking
  const own = await gate.read.ownAction(actionId, agent.agent)
  if (own === null) return wrong(asking, NOT_FOUND)
  const call = unreadCall('unread', served.name, sender)
  const kept = own.concluded === null ? null : await gate.collect(call, agent, own.concluded)
  if (kept === null) return wrong(asking, 'There is no result to collect.')
  const asked: Asked = { id: request.id, method: 'tools/call', modern: true, typed: true }
  if (kept.kind === 'replayed') {
    return released(kept, kept.response.body, asked, served) ?? wrong(asking, 'It is no message.')
  }
  return 'problem' in kept ? refusal(kept.problem, asked) : wrong(asking, NOT_FOUND)
}

async function withdraw(asking: Asking, actionId: string): Promise<Reply> {
  const done = await asking.gate.withdraw(actionId, asking.agent.agent)
  if (done.kind !== 'refused') return status(asking, actionId)
  return wrong(
    asking,
    done.why === 'unknown' ? NOT_FOUND : 'It is over, halted or being concluded.',
  )
}

const besides = ({ request }: Asking, ...names: readonly string[]): Uint8Array =>
  utf8(
    objectOf(
      request.params.members
        .filter(({ name }) => name !== '_meta' && !names.includes(name))
        .map(({ text }) => text),
    ),
  )

/** May I do this? The call lives on until it is reported or over. */
async function permit(asking: Asking): Promise<Reply> {
  const { gate, agent, sender, request, served } = asking
  const question = readQuestion(besides(asking))
  const call: FunctionCall | ReturnType<typeof unreadCall> = question.ok
    ? {
        kind: 'function',
        tool: question.tool,
        argumentsJson: question.argumentsJson,
        caller: sender.caller,
        idempotencyKey: null,
        approvalId: null,
        waitSeconds: 0,
      }
    : unreadCall(question.fault, served.name, sender)
  const declaring = withDeclared(call, declaredIn(request, sender))
  const answer = await decide(gate, declaring, agent).told
  if (answer.kind === 'permit') {
    const { actionId: action_id, deadline } = answer
    return right(asking, { verdict: 'permit', action_id, deadline })
  }
  const asked: Asked = { id: request.id, method: request.method, modern: true, typed: true }
  return 'problem' in answer
    ? refusal(answer.problem, asked)
    : wrong(asking, 'It was answered before.')
}

/** Where the object of the caller's mandate is, and what it may do now. */
async function transitions(asking: Asking): Promise<Reply> {
  const { gate, agent, sender, request } = asking
  const asked: Pick<FunctionCall, 'caller' | 'declared'> = { caller: sender.caller }
  const declaring = withDeclared(asked, declaredIn(request, sender))
  const told = await gate.read.openTransitions(declaring, agent)
  return told.kind === 'open'
    ? right(asking, transitionsOf(told))
    : refused(asking, mandateProblem(told))
}

const refused = ({ request: { id, method } }: Asking, problem: Problem): Reply =>
  refusal(problem, { id, method, modern: true, typed: true })

async function report(asking: Asking, actionId: string): Promise<Reply> {
  const read = readReport(besides(asking, 'action_id'))
  if (!read.ok) return wrong(asking, read.fault)
  const reported = await asking.gate.takeReport(actionId, asking.agent, read.report)
  const { id, method } = asking.request
  switch (reported.kind) {
    case 'recorded': {
      const { verdict, capsuleId: capsule_id } = reported
      return right(asking, { action_id: actionId, verdict, capsule_id })
    }
    case 'over':
      return wrong(asking, 'There is nothing more to report of it.')
    case 'too_many':
      return wrong(asking, 'Too many reports that no permit covers; ask before you act.')
    case 'refused':
    case 'unrecorded':
      return refusal(reported.problem, { id, method, modern: true, typed: true })
  }
}
