import { isMap, isScalar, isSeq, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { expand } from '../core/manifest/expand/expand.js'
import type { Problem } from '../core/manifest/expand/tree.js'
import { asV1 } from '../core/manifest/expand/warnings.js'
import type { Also, Manifest, ToolRule } from '../core/manifest/model.js'
import { readingOf } from '../core/manifest/route/reading.js'
import { readYaml } from './yaml.js'

export type Migrated =
  | { readonly kind: 'written'; readonly text: string; readonly opened: readonly string[] }
  /** It says v2 already: what it lets through, it says. */
  | { readonly kind: 'current' }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }

const V2 = 'gate.constraints/v2'
type Insertion = { readonly at: number; readonly remove: number; readonly text: string }

/**
 * A manifest of v1, or one without a `manifest` line, as v2 that behaves alike: the line is written, and
 * `also: any` wherever v1 let through what it did not read. Nothing else of the file's text changes.
 */
export function migrateManifest(text: string, json: boolean): Migrated {
  const before = expandText(text)
  if (!before.ok) return { kind: 'refused', problems: before.problems }
  const root = parseDocument(text, { version: '1.2', schema: 'core', merge: false }).contents
  if (!isMap(root)) return { kind: 'refused', problems: [] }
  const said = pairOf(root, 'manifest')
  if (isScalar(said?.value) && said.value.value === V2) return { kind: 'current' }
  const manifest = asV1(before.manifest)
  const edits: Insertion[] = [formatLine(root, said, json)]
  for (const [index, node] of toolNodes(root).entries()) {
    const rule = manifest.rules[index]
    if (rule === undefined || !isMap(node)) continue
    edits.push(insertion(node, alsoText(opened(rule, manifest), json), text))
  }
  const migrated = apply(text, edits)
  const after = expandText(migrated)
  if (!after.ok) return { kind: 'refused', problems: after.problems }
  if (!sameButAlso(before.manifest, after.manifest)) {
    const message = 'the file cannot be rewritten without changing more of it'
    const way_out = 'write manifest: gate.constraints/v2 and also by hand'
    return { kind: 'refused', problems: [{ path: '', message, way_out }] }
  }
  return { kind: 'written', text: migrated, opened: manifest.rules.map(({ tool }) => tool) }
}

function expandText(text: string): ReturnType<typeof expand> {
  const read = readYaml(text)
  return read.ok ? expand(read.tree) : read
}

/** A body that a constraint reads whole was never open. */
function opened(rule: ToolRule, manifest: Manifest): Partial<Also> {
  const whole = readingOf(rule, manifest).members?.below === 'read'
  return whole ? { query: 'any' } : { query: 'any', body: 'any' }
}

const alsoText = (also: Partial<Also>, json: boolean): string => {
  const members = Object.keys(also).map((name) => (json ? `"${name}": "any"` : `${name}: any`))
  return `${json ? '"also"' : 'also'}: {${members.join(', ')}}`
}

const pairOf = (map: YAMLMap, name: string): Pair | undefined =>
  map.items.find(({ key }) => isScalar(key) && key.value === name)

/** In the order in which they expand. */
function toolNodes(root: YAMLMap): readonly unknown[] {
  const tools = pairOf(root, 'tools')?.value
  if (isMap(tools)) return tools.items.map(({ value }) => value)
  const rules = pairOf(root, 'rules')?.value
  return isSeq(rules) ? rules.items : []
}

function formatLine(root: YAMLMap, said: Pair | undefined, json: boolean): Insertion {
  const value = said?.value as Node | undefined
  if (value?.range != null) {
    const [start, end] = value.range
    return { at: start, remove: end - start, text: json ? `"${V2}"` : V2 }
  }
  return insertion(root, json ? `"manifest": "${V2}"` : `manifest: ${V2}`, '')
}

/** As the first member, in the style of the mapping. */
function insertion(map: YAMLMap, member: string, text: string): Insertion {
  const [start = 0] = map.range ?? []
  if (map.flow === true) {
    return { at: start + 1, remove: 0, text: map.items.length === 0 ? member : `${member}, ` }
  }
  const indent = start - (text.lastIndexOf('\n', start - 1) + 1)
  return { at: start, remove: 0, text: `${member}\n${' '.repeat(text === '' ? 0 : indent)}` }
}

const apply = (text: string, edits: readonly Insertion[]): string =>
  [...edits]
    .sort((a, b) => b.at - a.at)
    .reduce(
      (out, { at, remove, text: more }) => out.slice(0, at) + more + out.slice(at + remove),
      text,
    )

/** The default of `connection` follows `also`; everything else stays. */
function sameButAlso(before: Manifest, after: Manifest): boolean {
  const plain = (manifest: Manifest): string => {
    const v1 = asV1(manifest)
    return JSON.stringify({ ...v1, rules: v1.rules.map((rule) => ({ ...rule, connection: '' })) })
  }
  return plain(before) === plain(after)
}
