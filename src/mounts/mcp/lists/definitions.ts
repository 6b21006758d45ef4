import type { Definition } from '../../../core/call/call.js'
import type { Hashing } from '../../../core/crypto/crypto.js'
import { elementsOf, membersOf } from '../../../core/json/spans.js'
import { isArray, isObject, type JsonObject } from '../../../core/json/value.js'
import { describeTool, type ToolDefinition } from '../../../core/mcp/definition.js'
import type { Response } from '../../../core/mcp/message.js'
import type { McpGate, Served } from '../options.js'

/** The body of a server's answer to the gate's own request; null where it gave none. */
export type AskServer = (
  method: string,
  members: readonly string[],
) => Promise<Response['body'] | null>

/** A definition that was seen so long ago is looked at again before the tool is called. */
const FRESH_MS = 60_000
const MOST_PAGES = 1_000

/** One entry of a list, as the server wrote it. */
export type Listed = { readonly text: string; readonly value: JsonObject }

/** What a server says of its tools, as its clients and the gate itself last saw it. Each is pinned when it is seen. */
export function createDefinitions(
  { name: server, trusted }: Pick<Served, 'name' | 'trusted'>,
  gate: Pick<McpGate, 'pinTools'>,
  hashing: Hashing,
) {
  let known = new Map<string, ToolDefinition>()
  let seenAt = Number.NEGATIVE_INFINITY
  let refreshing: Promise<boolean> | null = null

  /** Durable before anybody is shown them: what was shown is what a later change is compared with. */
  async function see(tools: readonly Listed[]): Promise<readonly ToolDefinition[]> {
    const described = tools.flatMap(({ value }) => describeTool(value, hashing) ?? [])
    await gate.pinTools(
      server,
      described.map(({ tool, digest, document }) => ({ tool, digest, document })),
    )
    return described
  }

  /** False: the server could not be asked. */
  async function refresh(ask: AskServer): Promise<boolean> {
    const all = new Map<string, ToolDefinition>()
    let cursor: string | null = null
    for (let page = 0; page < MOST_PAGES; page++) {
      const body = await ask('tools/list', cursor === null ? [] : [`"cursor":${cursor}`])
      // A server without tools says so by an error.
      if (body === null || body.kind === 'error') return body !== null
      for (const one of await see(entriesOf(body.text, body.value, 'tools'))) all.set(one.tool, one)
      const next = membersOf(body.text).find(({ name }) => name === 'nextCursor')
      if (next === undefined || !next.value.startsWith('"')) break
      cursor = next.value
    }
    known = all
    seenAt = performance.now()
    return true
  }

  return {
    /** The tools of a page that a client asked for. */
    async seen(tools: readonly Listed[]): Promise<void> {
      for (const one of await see(tools)) known.set(one.tool, one)
    },
    /** The server said that its list is another now. */
    stale(): void {
      seenAt = Number.NEGATIVE_INFINITY
    },
    /** As the server describes it now, or has within the last minute. */
    async of(tool: string, ask: AskServer): Promise<ToolDefinition | 'not_told' | null> {
      let told = true
      if (performance.now() - seenAt > FRESH_MS) {
        refreshing ??= refresh(ask).finally(() => {
          refreshing = null
        })
        told = await refreshing
      }
      return known.get(tool) ?? (told ? null : 'not_told')
    },
    inCall: (tool: ToolDefinition | null): Definition | null =>
      tool === null ? null : { digest: tool.digest, hinted: tool.hinted, trusted },
  }
}
export type Definitions = ReturnType<typeof createDefinitions>

/** The entries of the list that a result holds under this name. */
export function entriesOf(text: string, value: JsonObject, list: string): readonly Listed[] {
  const entries = value.get(list)
  const span = membersOf(text).find(({ name }) => name === list)
  if (!isArray(entries) || span === undefined) return []
  const texts = elementsOf(span.value)
  return entries.flatMap((entry, index) =>
    isObject(entry) ? [{ text: texts[index] ?? '', value: entry }] : [],
  )
}
