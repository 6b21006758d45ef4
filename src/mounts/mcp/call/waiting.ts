import { isObject, type JsonValue } from '../../../core/json/value.js'
import { errorOctets, resultOctets } from '../../../core/mcp/message.js'
import type { Waiting } from '../../../gate/answer/answer.js'
import type { Reply } from '../options.js'
import { type Asked, refusal } from './answer.js'
import { requestState } from './read-call.js'

/** What a client can do while a person decides. */
export type ClientAbilities = {
  /** It can open a page for its user. */
  readonly url: boolean
  /** Its revision, where it said one. */
  readonly version: string | null
}

/** From `initialize`, or from the `_meta` of each request. */
export function abilitiesOf(
  capabilities: JsonValue | undefined,
  version: string | null,
): ClientAbilities {
  const elicitation = isObject(capabilities) ? capabilities.get('elicitation') : undefined
  return { url: isObject(elicitation) && isObject(elicitation.get('url')), version }
}

const KEY = 'dev_capsulegate_approval'
const URL_REQUIRED = -32042
const RESUMABLE: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/**
 * The link is to a page where a person signs in: it is no credential, and what the client answers about it is
 * not taken for a decision (promise 4). A client that cannot open pages is told to call again.
 */
export function waitingReply(
  { approvalId, problem }: Waiting,
  asked: Asked,
  client: ClientAbilities,
  context: {
    readonly link: string | null
    /** The client has been given the link, and came back before anybody decided. */
    readonly resumes: boolean
    readonly more: string
  },
): Reply {
  const { id, method, modern } = asked
  const { link, resumes, more } = context
  const message = `${problem.title} A person decides on this page; call again afterwards.`
  if (modern && RESUMABLE.has(method) && (resumes || (client.url && link !== null))) {
    const inputRequests = {
      [KEY]: { method: 'elicitation/create', params: { mode: 'url', url: link, message } },
    }
    const result = JSON.stringify({
      resultType: 'input_required',
      ...(resumes ? {} : { inputRequests }),
      requestState: requestState({ approval: approvalId, more }),
    })
    return { octets: resultOctets(id, result), status: 200, problem, code: null }
  }
  if (!modern && client.url && link !== null && client.version === '2025-11-25') {
    const elicitations = [{ mode: 'url', elicitationId: approvalId, url: link, message }]
    const error = JSON.stringify({ code: URL_REQUIRED, message, data: { elicitations } })
    return { octets: errorOctets(id, error), status: 200, problem, code: URL_REQUIRED }
  }
  const page = link === null ? '' : ` A person decides at ${link}.`
  return refusal({ ...problem, detail: `${problem.detail}${page}` }, asked)
}
