import { MODERN } from '../../../src/core/mcp/methods.js'

/** The name of the server behind the gate, in manifests and paths. */
export const SERVER = 'pay'
/** The longest message that these mounts read. */
export const MESSAGE_BYTES = 4 * 1024 * 1024
export const LINK = (approvalId: string): string => `https://gate.test/approvals/${approvalId}`

/** Rules on paths as rules on tools of a server that are called the same. */
export const ofServer = (manifest: string): string =>
  manifest.replaceAll(
    /^( {2})([a-z_]+):\n {4}match: POST .*$/gm,
    `$1$2:\n    match: {server: ${SERVER}, tool: $2}`,
  )

const PROTOCOL = 'io.modelcontextprotocol/'
export const OWN = 'dev.capsulegate/'

export type Message = {
  readonly id: number
  readonly method: string
  /** What it is about: the name of a tool, the URI of a resource. */
  readonly name: string
  readonly text: string
}
export type MessageOptions = {
  readonly idempotencyKey?: string | null
  readonly approvalId?: string | null
  readonly wait?: number
  readonly declared?: { readonly intent?: object; readonly mandate?: string }
  /** What the client can do; in the era of `initialize` it has said so before. */
  readonly capabilities?: object
  readonly era?: 'modern' | 'legacy'
  /** Further members of params, as text. */
  readonly more?: readonly string[]
}

let last = 0

/** One request; `args` is the text of its arguments, null where it has none. */
export function message(
  method: string,
  name: string,
  args: string | null,
  options: MessageOptions = {},
): Message {
  const { idempotencyKey, approvalId, wait, declared = {} } = options
  const { capabilities = {}, era = 'modern', more = [] } = options
  const id = ++last
  const meta = {
    ...(era === 'modern'
      ? {
          [`${PROTOCOL}protocolVersion`]: MODERN,
          [`${PROTOCOL}clientCapabilities`]: capabilities,
        }
      : {}),
    ...(idempotencyKey == null ? {} : { [`${OWN}idempotency-key`]: idempotencyKey }),
    ...(approvalId == null ? {} : { [`${OWN}approval`]: approvalId }),
    ...(wait === undefined ? {} : { [`${OWN}wait`]: wait }),
    ...(declared.intent === undefined ? {} : { [`${OWN}intent`]: declared.intent }),
    ...(declared.mandate === undefined ? {} : { [`${OWN}mandate`]: declared.mandate }),
  }
  const about = method === 'resources/read' ? 'uri' : 'name'
  const params = [
    ...(name === '' ? [] : [`"${about}":${JSON.stringify(name)}`]),
    ...(args === null ? [] : [`"arguments":${args}`]),
    ...more,
    `"_meta":${JSON.stringify(meta)}`,
  ]
  const text = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{${params.join(',')}}}`
  return { id, method, name, text }
}

export type Problem = { readonly [name: string]: unknown }
type Reply = {
  readonly result?: {
    readonly structuredContent?: Problem
    readonly _meta?: { readonly [name: string]: unknown }
  }
  readonly error?: { readonly code: number; readonly data?: Problem }
}

/** The problem document of a refusal, wherever its answer has a place for it; null: the server's own answer. */
export function problemIn(text: string): Problem | null {
  const { result, error } = JSON.parse(text) as Reply
  const kept = result?._meta?.[`${OWN}problem`]
  const found = result?.structuredContent ?? kept ?? error?.data
  return isProblem(found) ? found : null
}
const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'code' in value && 'status' in value

/** The same as it goes over Streamable HTTP. */
export function postOf(
  { method, name, text }: Pick<Message, 'method' | 'name' | 'text'>,
  token: string | null,
  more: readonly string[] = [],
): string {
  const head = [
    `POST /mcp/${SERVER} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `content-length: ${Buffer.byteLength(text)}`,
    ...(token === null ? [] : [`authorization: Bearer ${token}`]),
    ...(method === '' ? [] : [`mcp-protocol-version: ${MODERN}`, `mcp-method: ${method}`]),
    ...(name === '' ? [] : [`mcp-name: ${name}`]),
    ...more,
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}

/** The message in an answer over HTTP: its body, or the last event of its stream. */
export const messageIn = (type: string | undefined, body: string): string =>
  type === 'text/event-stream'
    ? (body
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .at(-1)
        ?.slice('data: '.length) ?? '')
    : body
