import type { Request } from '../../core/mcp/message.js'
import { resultOctets } from '../../core/mcp/message.js'
import { OWN_PREFIX } from '../../core/mcp/meta.js'
import { statusOf } from '../http/own/status.js'
import { protocolError } from './answer.js'
import type { McpGate, Reply, Sender } from './options.js'

/** `/.gate/v1` for clients that have no HTTP: an agent's own actions, and nothing of any server. */
export const isOwnMethod = (method: string): boolean => method.startsWith(OWN_PREFIX)

const METHODS = {
  status: `${OWN_PREFIX}actions/get`,
  withdraw: `${OWN_PREFIX}actions/withdraw`,
} as const

const NOT_FOUND = 'There is no such action, or it is not yours.'

export async function ownReply(request: Request, sender: Sender, gate: McpGate): Promise<Reply> {
  const { id, method, params } = request
  const actionId = params.value.get('action_id')
  const { identified } = sender
  if (identified.kind !== 'known' || typeof actionId !== 'string') {
    return protocolError(id, -32602, 'params need action_id.')
  }
  if (method === METHODS.withdraw) {
    const done = await gate.withdraw(actionId, identified.agent)
    if (done.kind === 'refused') {
      return protocolError(id, -32602, done.why === 'unknown' ? NOT_FOUND : 'It is not open.')
    }
  } else if (method !== METHODS.status) {
    return protocolError(id, -32601, `The gate has no method ${method}.`)
  }
  const own = await gate.read.ownAction(actionId, identified.agent)
  return own === null
    ? protocolError(id, -32602, NOT_FOUND)
    : {
        octets: resultOctets(id, JSON.stringify(statusOf(own))),
        status: 200,
        problem: null,
        code: null,
      }
}
