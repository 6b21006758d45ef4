/**
 * What passes without being a call (the protocol's own business), by who may send it. Everything else that a
 * client requests is a call: a rule names it, or it is refused. What is no call and not here is dropped.
 */
export type Era = 'legacy' | 'modern'

/** The first revision without a handshake: each request says its version itself. */
export const MODERN = '2026-07-28'
export const isModern = (version: string): boolean => version >= MODERN

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const
export type ListMethod = (typeof LISTS)[number]
export const isList = (method: string): method is ListMethod =>
  LISTS.some((known) => known === method)

/** Requests of a client that go on to the server as they are. */
const PASSING: Readonly<Record<Era, ReadonlySet<string>>> = {
  legacy: new Set([
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    ...LISTS,
  ]),
  modern: new Set(['server/discover', 'subscriptions/listen', ...LISTS]),
}
/** A client of either era opens with these, before the era is known. */
const OPENING: ReadonlySet<string> = new Set(['initialize', 'server/discover', 'ping'])

export const passes = (method: string, era: Era): boolean =>
  OPENING.has(method) || PASSING[era].has(method)

/** The member of params that says what a method is about, which HTTP repeats as `Mcp-Name`. */
const NAMED_BY: Readonly<Record<string, 'name' | 'uri' | 'taskId'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}
export const namedBy = (method: string): 'name' | 'uri' | 'taskId' | null =>
  Object.hasOwn(NAMED_BY, method) ? (NAMED_BY[method] ?? null) : null

const FROM_CLIENT: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'notifications/tasks/status',
])
const FROM_SERVER: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
  'notifications/subscriptions/acknowledged',
])
export const clientMayNotify = (method: string): boolean => FROM_CLIENT.has(method)
export const serverMayNotify = (method: string): boolean => FROM_SERVER.has(method)

/** What a server may ask of a client, each to be let through or refused by the operator. */
export const SERVER_ASKS = ['sampling', 'elicitation', 'roots', 'tasks'] as const
export type ServerAsk = (typeof SERVER_ASKS)[number]
export function askOf(method: string): ServerAsk | 'ping' | null {
  switch (method) {
    case 'ping':
      return 'ping'
    case 'sampling/createMessage':
      return 'sampling'
    case 'elicitation/create':
      return 'elicitation'
    case 'roots/list':
      return 'roots'
    default:
      return method.startsWith('tasks/') ? 'tasks' : null
  }
}
