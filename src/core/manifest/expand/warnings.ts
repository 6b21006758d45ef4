import { utf8 } from '../../bytes/text.js'
import { canonicalOf } from '../../json/build.js'
import { parse } from '../../json/parse.js'
import type { Plain } from '../../json/value.js'
import type { Manifest, ManifestTest, ToolRule } from '../model.js'
import { readMembers } from '../route/read-members.js'
import { type Reading, readingOf } from '../route/reading.js'
import { guard, resembles } from '../route/resemble.js'
import { intentWarnings } from './intent-warnings.js'

/** A manifest that loads, and says something its author may not want. */
export type ManifestWarning = {
  /** Null: of the manifest as a whole. */
  readonly tool: string | null
  readonly code:
    | 'v1_open'
    | 'any_one_way'
    | 'names_alike'
    | 'test_not_read'
    | 'thin_accepted'
    | 'object_unused'
    | 'transition_unseen'
  readonly message: string
  readonly way_out: string
}

export function manifestWarnings(manifest: Manifest): readonly ManifestWarning[] {
  return [
    ...manifest.rules.flatMap((rule) => [...warningsOf(rule)]),
    ...intentWarnings(manifest),
    ...manifest.tests.flatMap((test, index) => [...unreadInTest(manifest, test, index)]),
  ]
}

function* warningsOf(rule: ToolRule): Generator<ManifestWarning> {
  const { tool, also } = rule
  if (also === undefined) {
    yield {
      tool,
      code: 'v1_open',
      message: `${tool} lets query names, members and bodies through that it does not read (v1)`,
      way_out: 'capsule-gate manifest migrate writes it as v2, where that is said tool by tool',
    }
    return
  }
  const open = (['query', 'body'] as const).filter((place) => also[place] === 'any')
  if (open.length > 0 && rule.effect.irreversibility_class !== 'two_way') {
    yield {
      tool,
      code: 'any_one_way',
      message: `${tool} cannot be undone and lets anything through in its ${open.join(' and ')}`,
      way_out: 'name what the upstream needs: also: {query: [names], body: [/pointers]}',
    }
  }
  for (const [name, other] of namesAlike(rule)) {
    yield {
      tool,
      code: 'names_alike',
      message: `${tool}: some servers read the query's ${name} as ${other}`,
      way_out: 'read one of them only, unless the upstream tells them apart',
    }
  }
}

/** Spelled by the operator, so they pass; the operator should know what they could be. */
function namesAlike({ args, also }: ToolRule): readonly (readonly [string, string])[] {
  const read = Object.values(args).flatMap(({ from }) => (from.in === 'query' ? [from.name] : []))
  const elsewhere = Object.entries(args).flatMap(([name, { from }]) =>
    from.in === 'query' ? [] : [name],
  )
  const listed = also === undefined || also.query === 'any' ? [] : also.query
  return [...read, ...listed].flatMap((name) =>
    [...read, ...elsewhere]
      .filter((other) => other !== name && resembles(name, guard(other)))
      .map((other) => [name, other] as const),
  )
}

/** A test whose body would be refused shows a call that cannot be made. */
function* unreadInTest(
  manifest: Manifest,
  test: ManifestTest,
  index: number,
): Generator<ManifestWarning> {
  const rule = manifest.rules.find(({ tool }) => tool === test.tool)
  if (rule === undefined || test.body === undefined) return
  const pointers = unreadIn(test.body, readingOf(rule, manifest))
  for (const pointer of pointers) {
    yield {
      tool: test.tool,
      code: 'test_not_read',
      message: `test ${index + 1} of ${test.tool} has ${pointer}, which the tool does not read`,
      way_out: 'add it to args or also.body, or take it out of the test',
    }
  }
}

function unreadIn(body: Plain, reading: Reading): readonly string[] {
  const { members, notInBody } = reading
  if (members === null) return reading.unread === 'refused' ? ['a body'] : []
  const parsed = parse(utf8(canonicalOf(body)))
  const read = parsed.ok ? readMembers(parsed.value, members, notInBody) : null
  return read?.ok === true ? read.notRead : []
}

/** The same manifest as v1 had it, to find out from the record whether a tool was open before. */
export const asV1 = (manifest: Manifest): Manifest => ({
  ...manifest,
  manifest: 'gate.constraints/v1',
  rules: manifest.rules.map(({ also: _, ...rule }) => rule),
})
