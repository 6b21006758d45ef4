import { Document } from 'yaml'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { readYaml } from '../../config/yaml.js'
import { runTests } from '../../core/manifest/constraint/run-tests.js'
import { expand } from '../../core/manifest/expand/expand.js'
import type { Problem } from '../../core/manifest/expand/tree.js'
import type { ArgType, Manifest } from '../../core/manifest/model.js'

/** A tool as somebody else described it, on its way into a manifest. */
export type ToolDraft = {
  readonly name: string
  readonly method: string
  readonly path: string
  /** Leaves the world as it was: permitted without asking, once the operator agrees. */
  readonly reads: boolean
  readonly args: { readonly [name: string]: ArgDraft }
  /** What the API takes and a manifest cannot read: it passes without being judged. */
  readonly also: AlsoDraft
  readonly constraints: { readonly [id: string]: ConstraintDraft }
  readonly tests: readonly TestDraft[]
  /** Lines of comment for whoever goes on from here. */
  readonly notes?: readonly string[]
}
export type AlsoDraft = {
  readonly query: readonly string[] | 'any'
  readonly body: readonly string[] | 'any'
}
export const CLOSED: AlsoDraft = { query: [], body: [] }
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
/** Short form: one input, one or more conditions. */
export type ConstraintDraft = { readonly [input: string]: Conditions }
export type Conditions = { readonly [condition: string]: Scalar | readonly Scalar[] | Conditions }
export type TestDraft = {
  readonly args: { readonly [name: string]: Scalar | readonly Scalar[] }
  readonly expect: 'pass' | 'blocked'
}

export type Written = {
  readonly text: string
  readonly tools: readonly ToolDraft[]
  /** What could not be kept, and why. */
  readonly lost: readonly string[]
}

/**
 * The manifest's text, which loads: whatever the loader refuses is left out, smallest part first, and
 * told. A tool that is left out is refused by the gate, so nothing gets looser this way.
 */
export function writeManifest(id: string, drafts: readonly ToolDraft[]): Written {
  const lost: string[] = []
  const sound = drafts.flatMap((draft) => {
    const kept = settle(id, draft, lost)
    return kept === null ? [] : [kept]
  })
  let tools = [...sound].sort(literalFirst)
  for (;;) {
    const text = textOf(id, tools)
    const { problems } = check(text)
    if (problems.length === 0 || tools.length === 0) return { text, tools, lost }
    const refused = new Set(problems.map(({ path }) => path.split('/')[2]))
    const next = tools.filter(({ name }) => !refused.has(name))
    // A problem between tools that names none of them: the last one is the one too many.
    const kept = next.length < tools.length ? next : tools.slice(0, -1)
    for (const { name } of tools.filter((tool) => !kept.includes(tool))) {
      lost.push(`${name}: left out: ${problems[0]?.message ?? 'it does not load'}`)
    }
    tools = kept
  }
}

/** `/orders/export` before `/orders/{id}`: the first rule that fits wins. */
const literalFirst = (a: ToolDraft, b: ToolDraft): number =>
  weight(a) < weight(b) ? -1 : weight(a) > weight(b) ? 1 : 0
const weight = ({ method, path }: ToolDraft): string =>
  `${method} ${path.replace(/\{[^}]*\}/g, '\uffff')}`

/** One tool by itself, until it loads and its tests hold; null when nothing of it does. */
function settle(id: string, draft: ToolDraft, lost: string[]): ToolDraft | null {
  let tool = draft
  for (;;) {
    const { problems, failing } = check(textOf(id, [tool]))
    if (problems.length === 0 && failing.length === 0) return tool
    const next =
      problems[0] === undefined ? withoutTests(tool, failing) : without(tool, problems[0])
    if (problems[0] !== undefined) {
      const what =
        next === null ? 'left out' : `${problems[0].path.split('/').slice(3, 5).join(' ')} left out`
      lost.push(`${tool.name}: ${what}: ${problems[0].message}`)
    }
    if (next === null) return null
    tool = next
  }
}

const withoutTests = (tool: ToolDraft, failing: readonly number[]): ToolDraft => ({
  ...tool,
  tests: tool.tests.filter((_, index) => !failing.includes(index + 1)),
})

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
function withUnread(also: AlsoDraft, from: ArgDraft['from'] | undefined): AlsoDraft {
  if (from === undefined) return also
  if ('query' in from && also.query !== 'any') {
    return { ...also, query: [...also.query, from.query] }
  }
  if (!('body' in from) || also.body === 'any') return also
  return { ...also, body: [...also.body, from.body] }
}

const omit = <T>(from: Readonly<Record<string, T>>, names: readonly string[]) =>
  Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name)))

function check(text: string): { problems: readonly Problem[]; failing: readonly number[] } {
  const read = readYaml(text)
  const expanded = read.ok ? expand(read.tree) : read
  if (!expanded.ok) return { problems: expanded.problems, failing: [] }
  return { problems: [], failing: failures(expanded.manifest) }
}
const failures = (manifest: Manifest): readonly number[] =>
  runTests(manifest, nodeCrypto).map(({ number }) => number)

function textOf(id: string, tools: readonly ToolDraft[]): string {
  const document = new Document({ id })
  /** On one line, as people write it. */
  const flow = (value: unknown) => document.createNode(value, { flow: true })
  const each = <T>(members: Readonly<Record<string, T>>, one: (member: T) => unknown) =>
    Object.fromEntries(Object.entries(members).map(([name, member]) => [name, flow(one(member))]))
  const described = tools.map((tool) => {
    const { name, method, path, reads, args, constraints, notes } = tool
    const node = document.createNode({
      match: `${method} ${path}`,
      ...(Object.keys(args).length === 0 ? {} : { args: each(byName(tool), (arg) => arg) }),
      ...alsoOf(tool, flow),
      irreversibility: reads ? 'two_way' : 'one_way_consequential',
      ...(Object.keys(constraints).length === 0
        ? {}
        : { constraints: each(constraints, (constraint) => constraint) }),
    })
    if (notes !== undefined && notes.length > 0) {
      node.commentBefore = notes.map((note) => ` ${note}`).join('\n')
    }
    return [name, node] as const
  })
  document.set('tools', document.createNode(Object.fromEntries(described)))
  const tests = tools.flatMap(({ name, tests: own }) =>
    own.map(({ args, expect }) => flow({ tool: name, args, expect })),
  )
  if (tests.length > 0) document.set('tests', document.createNode(tests))
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

function alsoOf({ also }: ToolDraft, flow: (value: unknown) => unknown): { also?: unknown } {
  const open = Object.entries(also).filter(([, list]) => list.length > 0)
  return open.length === 0 ? {} : { also: flow(Object.fromEntries(open)) }
}

/** `amount: decimal?` where the place is the one a manifest assumes, else the long form. */
const byName = ({ args, method, path }: ToolDraft): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(args).map(([name, { type, optional, from }]) => {
      const assumed = path.includes(`{${name}}`)
        ? 'path' in from && from.path === name
        : WITH_BODY.includes(method)
          ? 'body' in from && from.body === `/${name}`
          : 'query' in from && from.query === name
      return [
        name,
        assumed
          ? `${type}${optional ? '?' : ''}`
          : { type, ...from, ...(optional && { optional }) },
      ]
    }),
  )
const WITH_BODY = ['POST', 'PUT', 'PATCH']
