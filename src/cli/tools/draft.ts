import { nodeCrypto } from '../../adapters/crypto-node.js'
import { toPlain } from '../../core/json/value.js'
import { TOOL_NAME } from '../../core/manifest/expand/names.js'
import { definitionDigest, hintedClass } from '../../core/mcp/definition.js'
import type { Lost, ToolDraft } from '../init/draft.js'
import { toolName, unique } from '../init/names.js'
import { draftsOf, namedArgs } from '../init/schema/drafts.js'
import { exampleTests } from '../init/schema/examples.js'
import type { Json } from '../init/schema/schema.js'
import type { ToolDefinition } from './definitions.js'
import { readInput } from './input-schema.js'

export type Drafted = {
  readonly tools: readonly ToolDraft[]
  /** What a manifest cannot say, or what was left out, tool by tool. */
  readonly lost: readonly string[]
}
type Setting = { readonly server: string; readonly pin: boolean }

/** A server's definitions as tools of a manifest: all their arguments are written out. */
export function draftTools(definitions: readonly ToolDefinition[], setting: Setting): Drafted {
  const { server, pin } = setting
  const lost: string[] = []
  const tools: ToolDraft[] = []
  const [seen, names, ids] = [new Set<string>(), new Set<string>(), new Set<string>()]
  let loose = 0
  for (const definition of definitions) {
    const tool = definition.get('name')
    if (typeof tool !== 'string' || tool === '') {
      lost.push('a tool without a name: left out')
      continue
    }
    if (seen.has(tool)) {
      lost.push(`${server}.${tool}: left out: it is listed twice, and the first was taken`)
      continue
    }
    seen.add(tool)
    const name = nameOf(server, tool, names)
    const note: Lost = (what) => lost.push(`${name}: ${what}`)
    // A trailing one would make the name a pattern.
    const input = tool.includes('*')
      ? 'its name holds a *'
      : readInput(toPlain(definition.get('inputSchema') ?? null) as Json, note)
    if (typeof input === 'string') {
      note(`left out: ${input}`)
      continue
    }
    if (input.isLoose) loose++
    const found = namedArgs(input.args)
    tools.push({
      name,
      match: { server, tool },
      ...(pin ? { definition: definitionDigest(definition, nodeCrypto) } : {}),
      irreversibility: hintedClass(definition),
      notes: hintNotes(definition),
      also: { query: [], body: input.unread },
      tests: exampleTests(found, note),
      ...draftsOf(toolName(tool, 'mcp'), ids, found),
    })
  }
  if (loose > 0) {
    lost.push(
      `${loose} of ${tools.length} tools do not say additionalProperties: false; members that they do not list are refused all the same`,
    )
  }
  return { tools, lost }
}

/** Policy ids hold the name and a word before it, in 128 characters. */
const MAX_NAME = 120

/** `fs.write_file`, as its key in a manifest of the server is read; another where that is no name, or taken. */
function nameOf(server: string, tool: string, names: Set<string>): string {
  const full = tool.startsWith(`${server}.`) ? tool : `${server}.${tool}`
  const fits = TOOL_NAME.test(full) && full.length <= MAX_NAME && !names.has(full)
  if (fits) names.add(full)
  return fits ? full : unique(names, `${server}.${toolName(tool, 'mcp')}`.slice(0, 56))
}

/** What the server says of itself lowers the class of a draft, so somebody should look. */
function hintNotes(definition: ToolDefinition): readonly string[] {
  switch (hintedClass(definition)) {
    case 'two_way':
      return ['the server says that this only reads (readOnlyHint): check it']
    case 'one_way_recoverable':
      return ['the server says that this destroys nothing (destructiveHint: false): check it']
    case 'one_way_consequential':
    case 'one_way_terminal':
      return []
  }
}
