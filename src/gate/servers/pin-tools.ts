import { utf8 } from '../../core/bytes/text.js'
import { GateError } from '../../core/error.js'
import type { JournalEntry } from '../../ports/journal.js'
import type { Pin } from '../../ports/state.js'
import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { holding } from './holding.js'
import { perWindow } from './per-window.js'

/** A tool as its server describes it: the canonical JSON, and the digest of it. */
export type Described = {
  readonly tool: string
  readonly digest: string
  readonly document: string
}
/** Holds a server to how it describes its tools; durable and folded when it resolves. */
export type PinTools = (server: string, listed: readonly Described[]) => Promise<void>

/** A server chooses how many tools it lists and what it calls them, and each stays in journal and memory. */
const MOST_TOOLS = 1_000
const NAME = /^(?!.*\p{Cs}).{1,256}$/su
/** How often in an hour one server may describe tools anew that are refused already. */
const MOST_AGAIN = 500
const HOUR_MS = 60 * 60 * 1000
/** Documents written at once; each is a file. */
const AT_ONCE = 16

type On = {
  /** A change is in force: the caller raises the generation, so that calls not yet sent are stopped too. */
  changed(): void
  /** Refused tools are described anew too often to be recorded; they stay refused. */
  unsettled(server: string): void
}

/**
 * Tools that are new are pinned as they are described, a tool that is described otherwise than it is held to
 * is refused until an operator accepts that, or until the server describes it as before again: then it is
 * what was accepted. Rejects where new tools cannot be pinned, and then none of them is.
 */
export function createPinning(parts: Parts, on: On): PinTools {
  const mayTellAgain = perWindow(MOST_AGAIN, HOUR_MS, parts.clock)

  return (server, listed) =>
    holding(server, parts, async () => {
      const pins = await pinsOf(server, parts)
      const { added, moved } = compare(server, pins, listed)
      const fault = faultOf(server, pins.size, added)
      const pinned = fault === null ? added : []
      const known = moved.filter(({ pin }) => fault === null || pins.has(pin.tool))
      // That a tool is refused from now on is always told; what changes after that can wait.
      const told = known.filter(({ pin }) => pin.changed === null || mayTellAgain(server))
      if (told.length < known.length) on.unsettled(server)
      await publish([...pinned, ...told.map(({ described }) => described)], parts)
      const entries = [...pinnedEntry(server, pinned, parts), ...told.map(changedEntry(parts))]
      if (entries.length > 0) await parts.journal.append(entries)
      if (told.length > 0) on.changed()
      for (const change of told) report(change, parts)
      if (fault !== null) throw fault
    })
}

const pinsOf = async (server: string, { state }: Parts): Promise<ReadonlyMap<string, Pin>> =>
  new Map((await state.pins()).filter((pin) => pin.server === server).map((pin) => [pin.tool, pin]))

type Change = { readonly pin: Pin; readonly described: Described }

/**
 * Which tools are new, and which are described otherwise than they last were. A new tool that one listing
 * describes twice is held to the first description; of any tool the one that differs counts.
 */
function compare(
  server: string,
  pins: ReadonlyMap<string, Pin>,
  listed: readonly Described[],
): { readonly added: readonly Described[]; readonly moved: readonly Change[] } {
  const held = new Map(pins)
  const added: Described[] = []
  const last = new Map<string, Change>()
  for (const described of listed) {
    const { tool, digest } = described
    const pin = held.get(tool)
    if (pin === undefined) {
      added.push(described)
      held.set(tool, { server, tool, definition: digest, changed: null })
    } else if (digest !== pin.definition || !last.has(tool)) {
      last.set(tool, { pin, described })
    }
  }
  const moved = [...last.values()].filter(
    ({ pin, described }) => described.digest !== (pin.changed ?? pin.definition),
  )
  return { added, moved }
}

function faultOf(server: string, known: number, added: readonly Described[]): GateError | null {
  const misnamed = added.find(({ tool }) => !NAME.test(tool))
  if (misnamed !== undefined) {
    const length = misnamed.tool.length
    return new GateError('tools_unpinnable', `${server} lists a tool with a name of ${length}`)
  }
  const count = known + added.length
  if (added.length === 0 || count <= MOST_TOOLS) return null
  return new GateError('tools_unpinnable', `${server} has described ${count} tools`)
}

/** Before the line that names them: what was pinned or seen can be shown from then on. */
async function publish(described: readonly Described[], { evidence }: Parts): Promise<void> {
  for (let from = 0; from < described.length; from += AT_ONCE) {
    const some = described.slice(from, from + AT_ONCE)
    await Promise.all(
      some.map(({ digest, document }) => evidence.putPublic(digest, utf8(document))),
    )
  }
}

function pinnedEntry(server: string, added: readonly Described[], parts: Parts): JournalEntry[] {
  if (added.length === 0) return []
  const tools = added.map(({ tool, digest: definition }) => ({ tool, definition }))
  return [signed('TOOLS_PINNED', { server, tools }, parts)]
}

const changedEntry =
  (parts: Parts) =>
  ({ pin, described }: Change): JournalEntry => {
    const { server, tool, definition: pinned } = pin
    return signed('TOOL_CHANGED', { server, tool, pinned, seen: described.digest }, parts)
  }

function report({ pin: { server, tool, definition }, described }: Change, parts: Parts): void {
  const isBack = described.digest === definition
  const detail = isBack
    ? `${server} describes ${tool} as it was accepted again`
    : `${server} describes ${tool} otherwise than it was accepted, and calls of it are refused: capsule-gate tools accept shows the difference`
  parts.report({ level: 'warn', event: isBack ? 'tool_changed_back' : 'tool_changed', detail })
}
