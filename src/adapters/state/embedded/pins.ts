import type { LineOf } from '../../../core/journal/vocabulary.js'
import type { Pin } from '../../../ports/state.js'
import { sortedValues } from './maps.js'

/** How the tools of MCP servers have to be described. They do not expire: each is one tool of a server. */
export function createPins() {
  const servers = new Map<string, Map<string, Pin>>()

  const get = (server: string, tool: string): Pin | null => servers.get(server)?.get(tool) ?? null
  function set(pin: Pin): void {
    const tools = servers.get(pin.server) ?? new Map<string, Pin>()
    tools.set(pin.tool, pin)
    servers.set(pin.server, tools)
  }

  return {
    get,
    all: (): Pin[] => sortedValues(servers).flatMap(sortedValues),
    /** What a tool is held to is changed by an operator alone. */
    pinned({ server, tools }: LineOf<'TOOLS_PINNED'>): void {
      for (const { tool, definition } of tools) {
        if (get(server, tool) === null) set({ server, tool, definition, changed: null })
      }
    },
    changed({ server, tool, pinned, seen }: LineOf<'TOOL_CHANGED'>): void {
      set({ server, tool, definition: pinned, changed: seen === pinned ? null : seen })
    },
    accepted({ server, tool, definition }: LineOf<'TOOL_ACCEPTED'>): void {
      const changed = get(server, tool)?.changed ?? null
      set({ server, tool, definition, changed: changed === definition ? null : changed })
    },
    load(pins: readonly Pin[]): void {
      servers.clear()
      for (const pin of pins) set(pin)
    },
  }
}
