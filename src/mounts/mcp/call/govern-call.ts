import type { McpCall } from '../../../core/call/call.js'
import type { Malformed } from '../../../core/call/malformed.js'
import { withDeclared } from '../../../core/call/parts.js'
import type { ToolDefinition } from '../../../core/mcp/definition.js'
import type { Request } from '../../../core/mcp/message.js'
import { askOf, namedBy } from '../../../core/mcp/methods.js'
import { paramHeaders, repeatOther } from '../../../core/mcp/param-headers.js'
import type { Answer } from '../../../gate/answer/answer.js'
import type { Flight } from '../flights.js'
import type { Line } from '../line.js'
import type { AskServer } from '../lists/definitions.js'
import type { McpOptions, Reply, Sender } from '../options.js'
import { type Asked, inputAsked, protocolError, refusal, released } from './answer.js'
import { declaredIn } from './declared.js'
import { dispatchOver } from './dispatch.js'
import { readCall } from './read-call.js'
import type { Tasks } from './tasks.js'
import { type ClientAbilities, waitingReply } from './waiting.js'

export type Calling = Line &
  Pick<McpOptions, 'approvalLink'> & {
    readonly modern: boolean
    readonly abilities: ClientAbilities
    readonly tasks: Tasks
    readonly askServer: AskServer
    readonly refuse: (fault: Extract<Malformed, `message_${string}`>) => Promise<Reply>
  }

/** A request that asks something of the server: through the gate, whatever it is. */
export async function governCall(
  request: Request,
  flight: Flight,
  sender: Sender,
  calling: Calling,
): Promise<Reply> {
  const { gate, served, definitions } = calling
  const read = readCall(request, served.meta.to_server)
  if (!read.ok) return calling.refuse(read.fault)
  const { name, more } = read.call
  const isTool = request.method === 'tools/call' && name !== null
  const described = isTool ? await describedNow(name, calling) : null
  const tool = described === 'not_told' ? null : described
  const wanted = paramHeaders(tool?.headers ?? [], bytesOf(read.call))
  if (calling.modern && sender.params !== undefined && repeatOther(sender.params, wanted)) {
    return calling.refuse('message_header_mismatch')
  }
  const asks: McpCall = {
    kind: 'mcp',
    server: served.name,
    ...read.call,
    definition: definitions.inCall(tool),
    ...(described === 'not_told' ? { definitionNotTold: true } : {}),
    caller: sender.caller,
    callerLeft: flight.cancelled,
  }
  const call = withDeclared(asks, declaredIn(request, sender))
  const headOf = (sent: McpCall) => ({
    ...calling.headOf(sent.method, sent.name ?? taskIdOf(request)),
    params: paramHeaders(tool?.headers ?? [], bytesOf(sent)),
  })
  const dispatch = dispatchOver({ ...calling, headOf }, flight)
  const answer = await gate.govern(call, dispatch, sender.identified)
  const asked: Asked = {
    id: request.id,
    method: request.method,
    modern: calling.modern,
    typed: tool?.typed ?? false,
  }
  if (answer.kind === 'executed') {
    await calling.tasks.seen(answer, request.method, request.params.value)
  }
  return replyTo(answer, asked, { resumes: read.resumes, more }, calling)
}

const NO_BYTES = new Uint8Array()
const bytesOf = ({ body }: Pick<McpCall, 'body'>): Uint8Array =>
  body.kind === 'read' ? body.bytes : NO_BYTES

function taskIdOf({ method, params }: Request): string | null {
  const id = namedBy(method) === 'taskId' ? params.value.get('taskId') : null
  return typeof id === 'string' ? id : null
}

/** What cannot be pinned was not described: a tool that was accepted before is then refused. */
async function describedNow(
  name: string,
  { gate, served, definitions, askServer }: Calling,
): Promise<ToolDefinition | 'not_told' | null> {
  try {
    return await definitions.of(name, askServer)
  } catch (error) {
    const detail = `${served.name}: ${String(error)}`
    gate.report({ level: 'error', event: 'tools_not_pinned', detail })
    return null
  }
}

async function replyTo(
  answer: Answer,
  asked: Asked,
  { resumes, more }: { readonly resumes: boolean; readonly more: string },
  calling: Calling,
): Promise<Reply> {
  switch (answer.kind) {
    case 'executed': {
      const octets = answer.dispatched.held?.body
      if (octets === undefined) return protocolError(asked.id, -32603, 'The answer was not kept.')
      const asks = answer.dispatched.observation.kind === 'unfinished' ? inputAsked(octets) : []
      const refused = await refusedInput(asks, answer.caller, calling)
      if (refused !== null) return protocolError(asked.id, -32603, refused)
      return released(answer, octets, asked, calling.served) ?? noAnswer(asked)
    }
    case 'replayed':
      return released(answer, answer.response.body, asked, calling.served) ?? noAnswer(asked)
    case 'refused':
    case 'unrecorded':
      return refusal(answer.problem, asked)
    case 'pending':
    case 'joined': {
      const link = calling.approvalLink(answer.approvalId)
      return waitingReply(answer, asked, calling.abilities, { link, resumes, more })
    }
  }
}

const noAnswer = (asked: Asked): Reply =>
  protocolError(asked.id, -32603, 'The server answered with something that is no answer.')

/** A server of the modern era asks by its result; each ask is on record, and passes or not. */
async function refusedInput(
  asks: readonly string[],
  caller: Answer['caller'],
  { gate, served }: Calling,
): Promise<string | null> {
  const agent = caller.kind === 'known' ? caller.agent : ''
  let refused: string | null = null
  for (const method of asks) {
    const kind = askOf(method)
    const passed = kind !== null && kind !== 'ping' && served.asks[kind] === 'pass'
    const recorded = await gate.recordServerAsk({ server: served.name, method, agent, passed })
    if (!recorded || !passed)
      refused = `The server asks for ${method}, which is not passed on to clients.`
  }
  return refused
}
