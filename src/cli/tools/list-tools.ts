import { setTimeout as delay } from 'node:timers/promises'
import { parse } from '../../core/json/parse.js'
import { isObject, type JsonObject } from '../../core/json/value.js'
import type { Response } from '../../core/mcp/message.js'
import { MODERN } from '../../core/mcp/methods.js'
import { UsageError } from '../output/print.js'
import { type Conversation, converse, type ServerCommand } from './converse.js'
import { readPage, type ToolDefinition } from './definitions.js'

const LEGACY = '2025-11-25'
const CLIENT = { name: 'capsule-gate', version: '1' }
/** All that a client can be asked for: some tools are only listed to those that have it. */
const CAPABILITIES = { roots: {}, sampling: {}, elicitation: {} }
const OPENING = { protocolVersion: LEGACY, capabilities: CAPABILITIES, clientInfo: CLIENT }
/** From 2026-07-28 on each request says what the handshake said. */
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
}

const MAX_TOOLS = 2_000
const MAX_PAGES = 1_000
/** Some tools come only once the handshake is over; a server that says so gets this long. */
const SETTLING_MS = 1_000
const MAX_LISTS = 5

/** Starts the server, asks it for all its tools, and stops it. */
export async function listTools(command: ServerCommand): Promise<readonly ToolDefinition[]> {
  const server = converse(command)
  try {
    const greeted = await server.ask('initialize', OPENING)
    if (greeted.kind === 'result') {
      server.tell('notifications/initialized')
      return await listSettled(server, listChanges(greeted.value), {})
    }
    const discovered = await server.ask('server/discover', { _meta: META })
    if (discovered.kind === 'error') {
      throw new UsageError(
        `the server refuses initialize (${saying(greeted)}) and server/discover (${saying(discovered)})`,
      )
    }
    return await listAll(server, { _meta: META })
  } finally {
    await server.close()
  }
}

async function listSettled(
  server: Conversation,
  mayChange: boolean,
  params: object,
): Promise<readonly ToolDefinition[]> {
  for (let lists = 1; ; lists++) {
    const before = server.changes()
    const tools = await listAll(server, params)
    if (mayChange) await delay(SETTLING_MS)
    if (server.changes() === before || lists === MAX_LISTS) return tools
  }
}

function listChanges(greeting: JsonObject): boolean {
  const capabilities = greeting.get('capabilities')
  const tools = isObject(capabilities) ? capabilities.get('tools') : undefined
  return isObject(tools) && tools.get('listChanged') === true
}

async function listAll(server: Conversation, params: object): Promise<readonly ToolDefinition[]> {
  const tools: ToolDefinition[] = []
  const cursors = new Set<string>()
  let cursor: string | null = null
  do {
    const given = await server.ask('tools/list', { ...params, ...(cursor !== null && { cursor }) })
    if (given.kind === 'error') {
      throw new UsageError(`the server refuses tools/list: ${saying(given)}`)
    }
    const page = readPage(given.value)
    if (page === null) throw new UsageError('the server answered tools/list without a list')
    tools.push(...page.tools)
    cursor = page.next
    if (cursor !== null && cursors.has(cursor)) {
      throw new UsageError('the server gives the same page of its list again')
    }
    if (cursor !== null) cursors.add(cursor)
    if (tools.length > MAX_TOOLS || cursors.size > MAX_PAGES) {
      throw new UsageError(
        `the server lists more than ${MAX_TOOLS} tools, or has ${MAX_PAGES} pages`,
      )
    }
  } while (cursor !== null)
  return tools
}

function saying({ text }: Response['body']): string {
  const parsed = parse(text)
  const message = parsed.ok && isObject(parsed.value) ? parsed.value.get('message') : undefined
  return typeof message === 'string' ? message : text
}
