import { membersOf } from '../../../core/json/spans.js'
import { isObject } from '../../../core/json/value.js'
import {
  errorOctets,
  type Message,
  type Request,
  type RequestId,
  type Response,
  readMessage,
  resultOctets,
} from '../../../core/mcp/message.js'
import { OWN, withMeta } from '../../../core/mcp/meta.js'
import type { Problem } from '../../../core/verdict/problem.js'
import type { Answer, Executed, Replay } from '../../../gate/answer/answer.js'
import { MAX_SERVER_MESSAGE, type Reply, type Served } from '../options.js'

/** The client's request, as far as an answer to it depends on it. */
export type Asked = Pick<Request, 'id' | 'method'> & {
  readonly modern: boolean
  /** The tool's results have a schema, which a refusal does not fit. */
  readonly typed: boolean
}

/** Octets of a response as the gate read it, to the client: under its own id, with the gate's ids in `_meta`. */
export function released(
  answer: Executed | Replay,
  octets: Uint8Array,
  { id }: Asked,
  served: Served,
): Reply | null {
  const response = responseIn(octets)
  if (response === null) return null
  const { body } = response
  if (body.kind === 'error') {
    return { octets: errorOctets(id, body.text), status: 200, problem: null, code: body.code }
  }
  const own = [
    [OWN.action, answer.actionId],
    [OWN.capsule, answer.capsuleId],
    ...(answer.kind === 'executed' ? [[OWN.verdict, answer.verdict]] : []),
  ].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
  const result = withMeta(membersOf(body.text), served.meta.to_client, own)
  return { octets: resultOctets(id, result), status: 200, problem: null, code: null }
}

export function responseIn(octets: Uint8Array): Response | null {
  const read = readMessage(octets, MAX_SERVER_MESSAGE)
  const message: Message | null = read.ok ? read.message : null
  return message?.kind === 'response' ? message : null
}

/**
 * A refusal in words for the model: as the result of a tool, because models read those and correct themselves;
 * everything else has no such result, and gets an error. The status of the problem is its code, outside of the
 * range that JSON-RPC and MCP keep for themselves.
 */
export function refusal(problem: Problem, asked: Asked): Reply {
  const { id, method } = asked
  if (method !== 'tools/call') {
    const error = { code: problem.status, message: problem.detail, data: problem }
    return {
      octets: errorOctets(id, JSON.stringify(error)),
      status: 200,
      problem,
      code: error.code,
    }
  }
  const result = {
    content: [problem.detail, ...insteadOf(problem)].map((text) => ({ type: 'text', text })),
    isError: true,
    // Clients hold structured content against the tool's schema, and drop what does not fit.
    ...(asked.typed ? {} : { structuredContent: problem }),
    ...(asked.modern ? { resultType: 'complete' } : {}),
    _meta: {
      ...(problem.action_id === undefined ? {} : { [OWN.action]: problem.action_id }),
      ...(problem.capsule_id === undefined ? {} : { [OWN.capsule]: problem.capsule_id }),
      ...(problem.verdict === null ? {} : { [OWN.verdict]: problem.verdict }),
      ...(asked.typed ? { [OWN.problem]: problem } : {}),
    },
  }
  return { octets: resultOctets(id, JSON.stringify(result)), status: 200, problem, code: null }
}

/** What a denied agent may do instead, also where its model reads nothing but text (seed intent-declaration-primitive-01 §6.1). */
function insteadOf(problem: Problem): readonly string[] {
  const { result, available_actions, suggested_paths, hem_available, mismatch_detail } = problem
  const says = available_actions.length + suggested_paths.length > 0 || hem_available
  if (result !== 'DENY' || !(says || mismatch_detail !== undefined)) return []
  const { deny_code } = problem
  const said = { deny_code, available_actions, suggested_paths, hem_available, mismatch_detail }
  return [JSON.stringify(said)]
}

const CODE_OF: Readonly<Record<string, number>> = {
  message_not_json: -32700,
  message_names_twice: -32700,
  message_meta_missing: -32602,
  message_header_mismatch: -32020,
}

/** A message that is no request: the protocol's own codes. */
export function malformed(answer: Answer, fault: string, id: RequestId | null): Reply {
  const problem = 'problem' in answer ? answer.problem : null
  const code = CODE_OF[fault] ?? -32600
  const message = problem?.detail ?? 'The message cannot be read.'
  const error = JSON.stringify({ code, message, ...(problem === null ? {} : { data: problem }) })
  return { octets: errorOctets(id, error), status: problem?.status ?? 400, problem, code }
}

/** For what is no call and has no record: the server did not do its part. */
export const protocolError = (id: RequestId, code: number, message: string): Reply => ({
  octets: errorOctets(id, JSON.stringify({ code, message })),
  status: 200,
  problem: null,
  code,
})

/** The methods by which a result asks the client for input (MRTR, 2026-07-28). */
export function inputAsked(octets: Uint8Array): readonly string[] {
  const response = responseIn(octets)
  const body = response?.body
  if (body?.kind !== 'result' || body.value.get('resultType') !== 'input_required') return []
  const requests = body.value.get('inputRequests')
  if (!isObject(requests)) return []
  return [...requests.values()].map((request) => {
    const method = isObject(request) ? request.get('method') : undefined
    return typeof method === 'string' ? method : ''
  })
}
