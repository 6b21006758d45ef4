import { Document } from 'yaml'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { readYaml } from '../../config/yaml.js'
import type { IrreversibilityClass } from '../../core/capsule/registries.js'
import { runTests } from '../../core/manifest/constraint/run-tests.js'
import { expand } from '../../core/manifest/expand/expand.js'
import type { Problem } from '../../core/manifest/expand/tree.js'
import {
  type Also,
  type ArgType,
  type HttpMatch,
  isMcpMatch,
  type McpMatch,
} from '../../core/manifest/model.js'

/** A tool as a document or recorded calls describe it, on its way into a manifest. */
export type ToolDraft = {
  /** As policies and records name it; of a server, with the server's name before it. */
  readonly name: string
  readonly match: HttpMatch | Extract<McpMatch, { tool: string }>
  /** The digest that a server's definition of it must have. */
  readonly definition?: string
  readonly irreversibility: IrreversibilityClass
  readonly args: { readonly [name: string]: ArgDraft }
  /** What the API takes and a manifest cannot read: it passes without being judged. */
  readonly also: Also
  readonly constraints: { readonly [id: string]: ConstraintDraft }
  readonly tests: readonly TestDraft[]
  /** Lines of comment above the tool. */
  readonly notes?: readonly string[]
}
export type ArgDraft = {
  readonly type: ArgType
  readonly optional: boolean
  readonly from:
    | { readonly body: string }
    | { readonly query: string }
    | { readonly path: string }
    | { readonly header: string }
}
type Scalar = string | number | boolean
export type TestValue = Scalar | readonly Scalar[] | { readonly [name: string]: never }
/** Short form: one input, one or more conditions. */
type ConstraintDraft = { readonly [input: string]: Conditions }
export type Conditions = { readonly [condition: string]: TestValue | Conditions }
export type TestDraft = {
  readonly args: { readonly [name: string]: TestValue }
  readonly expect: 'pass' | 'blocked'
}
/** Notes what a manifest cannot say about a tool. */
export type Lost = (what: string) => void

/** What a method promises: to leave the world as it was, or nothing. */
export const classOfMethod = (method: string): IrreversibilityClass =>
  ['GET', 'HEAD', 'OPTIONS'].includes(method) ? 'two_way' : 'one_way_consequential'

export type Written = {
  readonly text: string
  readonly tools: readonly ToolDraft[]
  /** What could not be kept, and why. */
  readonly lost: readonly string[]
}

/**
 * The manifest's text, which loads: whatever the loader refuses is left out, smallest part first, and
 * listed. A tool that is left out is refused by the gate, so nothing gets looser this way.
 */
export function writeManifest(
  id: string,
  drafts: readonly ToolDraft[],
  ofServer: Omit<Top, 'id'> = {},
): Written {
  const top = { id, ...ofServer }
  const lost: string[] = []
  let tools = drafts.flatMap((draft) => settle(top, draft, lost) ?? []).sort(literalFirst)
  for (;;) {
    const text = textOf(top, tools)
    const { problems } = check(text)
    if (problems.length === 0 || tools.length === 0) return { text, tools, lost }
    const refused = new Set(problems.map(({ path }) => path.split('/')[2]))
    const next = tools.filter((tool) => !refused.has(keyOf(tool)))
    // A problem between tools that names none of them: the last one is the one too many.
    const kept = next.length < tools.length ? next : tools.slice(0, -1)
    for (const { name } of tools.filter((tool) => !kept.includes(tool))) {
      lost.push(`${name}: left out: ${problems[0]?.message ?? 'it does not load'}`)
    }
    tools = kept
  }
}

/** What stands above the tools; `server`: they are that MCP server's. */
export type Top = {
  readonly id: string
  readonly server?: string
  /** Lines of comment at the very top. */
  readonly notes?: readonly string[]
}

/** `/orders/export` before `/orders/{id}`: the first rule that fits wins. */
const literalFirst = (a: ToolDraft, b: ToolDraft): number =>
  weight(a) < weight(b) ? -1 : weight(a) > weight(b) ? 1 : 0
const weight = ({ match }: ToolDraft): string =>
  isMcpMatch(match) ? '' : `${match.method} ${match.path.replace(/\{[^}]*\}/g, '\uffff')}`

/** Its name in the manifest, where the server's need not be said again. */
const keyOf = ({ name, match }: ToolDraft): string =>
  isMcpMatch(match) && name.startsWith(`${match.server}.`)
    ? name.slice(match.server.length + 1)
    : name

/** One tool by itself, until it loads and its tests hold; null when nothing of it does. */
function settle(top: Top, draft: ToolDraft, lost: string[]): ToolDraft | null {
  let tool = draft
  for (;;) {
    const { problems, failing } = check(textOf(top, [tool]))
    const [problem] = problems
    if (problem === undefined) {
      if (failing.length === 0) return tool
      tool = { ...tool, tests: tool.tests.filter((_, index) => !failing.includes(index + 1)) }
      continue
    }
    const next = without(tool, problem)
    const part = next === null ? '' : `${problem.path.split('/').slice(3, 5).join(' ')} `
    lost.push(`${tool.name}: ${part}left out: ${problem.message}`)
    if (next === null) return null
    tool = next
  }
}

/** Without the argument or constraint the problem points at; its own tests go with it. */
function without(tool: ToolDraft, { path }: Problem): ToolDraft | null {
  const [, top, , part, name = ''] = path.split('/')
  if (top === 'tests') return { ...tool, tests: [] }
  if (part === 'constraints' && Object.hasOwn(tool.constraints, name)) {
    return { ...tool, constraints: omit(tool.constraints, [name]), tests: [] }
  }
  if (part === 'args' && Object.hasOwn(tool.args, name)) {
    const about = Object.keys(tool.constraints).filter((key) =>
      Object.hasOwn(tool.constraints[key] ?? {}, name),
    )
    return {
      ...tool,
      args: omit(tool.args, [name]),
      also: withUnread(tool.also, tool.args[name]?.from),
      constraints: omit(tool.constraints, about),
      tests: [],
    }
  }
  return null
}

/** An argument that is not read after all still goes to the API. */
function withUnread({ query, body }: Also, from: ArgDraft['from'] | undefined): Also {
  if (from === undefined) return { query, body }
  return {
    query: 'query' in from && query !== 'any' ? [...query, from.query] : query,
    body: 'body' in from && body !== 'any' ? [...body, from.body] : body,
  }
}

const omit = <T>(from: Readonly<Record<string, T>>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)))

/** The manifest that a text is, or why it is none. */
export function readManifest(text: string): ReturnType<typeof expand> {
  const read = readYaml(text)
  return read.ok ? expand(read.tree) : read
}

function check(text: string): { problems: readonly Problem[]; failing: readonly number[] } {
  const read = readManifest(text)
  if (!read.ok) return { problems: read.problems, failing: [] }
  const failing = runTests(read.manifest, nodeCrypto).map(({ number }) => number)
  return { problems: [], failing }
}

function textOf({ id, server, notes }: Top, tools: readonly ToolDraft[]): string {
  const document = new Document({ id, ...(server === undefined ? {} : { server }) })
  if (notes !== undefined) document.commentBefore = commented(notes)
  /** On one line, as people write it. */
  const flow = (value: unknown) => document.createNode(value, { flow: true })
  /** One line for each member; without members, nothing. */
  const block = (name: string, members: Readonly<Record<string, unknown>>) => {
    const lines = Object.entries(members).map(([key, member]) => [key, flow(member)])
    return lines.length === 0 ? {} : { [name]: Object.fromEntries(lines) }
  }
  const described = tools.map((tool) => {
    const { definition, irreversibility, also, constraints, notes: own = [] } = tool
    const open = Object.entries(also).filter(([, list]) => list.length > 0)
    const match = matchOf(tool)
    const node = document.createNode({
      ...(match === null ? {} : { match: typeof match === 'string' ? match : flow(match) }),
      ...(definition === undefined ? {} : { definition }),
      ...block('args', argsOf(tool)),
      ...(open.length === 0 ? {} : { also: flow(Object.fromEntries(open)) }),
      irreversibility,
      ...block('constraints', constraints),
    })
    if (own.length > 0) node.commentBefore = commented(own)
    return [keyOf(tool), node] as const
  })
  document.set('tools', document.createNode(Object.fromEntries(described)))
  const tests = tools.flatMap(({ name, tests: own }) =>
    own.map(({ args, expect }) => flow({ tool: name, args, expect })),
  )
  if (tests.length > 0) document.set('tests', document.createNode(tests))
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

const commented = (lines: readonly string[]): string => lines.map((line) => ` ${line}`).join('\n')

/** Null where its key says it. */
function matchOf(tool: ToolDraft): string | McpMatch | null {
  const { match } = tool
  if (!isMcpMatch(match)) return `${match.method} ${match.path}`
  return match.tool === keyOf(tool) ? null : match
}

/** `amount: decimal?` where a manifest assumes the source, else the long form. */
const argsOf = ({ args, match }: ToolDraft): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(args).map(([name, { type, optional, from }]) => {
      const assumed =
        !isMcpMatch(match) && match.path.includes(`{${name}}`)
          ? 'path' in from && from.path === name
          : isMcpMatch(match) || WITH_BODY.includes(match.method)
            ? 'body' in from && from.body === `/${name}`
            : 'query' in from && from.query === name
      const long = { type, ...from, ...(optional && { optional }) }
      return [name, assumed ? `${type}${optional ? '?' : ''}` : long]
    }),
  )
const WITH_BODY = ['POST', 'PUT', 'PATCH']
