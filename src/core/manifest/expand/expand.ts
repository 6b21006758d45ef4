import type { Hashing } from '../../crypto/crypto.js'
import { jsonDigest } from '../../json/build.js'
import type { Constraint, Manifest } from '../model.js'
import { checkManifest } from './check.js'
import { expandConstraint } from './constraint.js'
import { SERVER_NAME } from './match.js'
import { isOurs, NAMESPACED, qualify } from './names.js'
import { expandObject } from './object.js'
import { expandRule, RULE_KEYS, type RuleDraft, type RuleSetting, TOOL_KEYS } from './rule.js'
import { expandTests } from './tests.js'
import {
  createReader,
  type Fields,
  freeze,
  type Node,
  type Problem,
  type Reader,
  record,
  type SourceTree,
} from './tree.js'

export type Expanded =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export const MANIFEST_KEYS = [
  'manifest',
  'id',
  'version',
  'mode',
  'default',
  'upstream',
  'server',
  'object',
  'tools',
  'rules',
  'constraints',
  'tests',
]

/**
 * The short form of DESIGN §1, or the full one, to the full one. Expanding the full form gives itself,
 * so what `manifest show --expanded` prints is a manifest too.
 */
export function expand(tree: SourceTree): Expanded {
  const reader = createReader(tree)
  const manifest = read(reader, { value: tree.value, path: '' })
  if (manifest === undefined || reader.problems.length > 0) {
    return { ok: false, problems: reader.problems }
  }
  return { ok: true, manifest: freeze(manifest) }
}

/** JSON-DIGEST of the expanded form; every capsule of its tools names it. */
export const manifestDigest = (manifest: Manifest, crypto: Hashing): string =>
  jsonDigest(manifest, crypto)

function read(reader: Reader, root: Node): Manifest | undefined {
  const fields = reader.fields(root, MANIFEST_KEYS)
  if (fields === undefined) return undefined
  const id = reader.text(fields.get('id'), NAMESPACED, 'a reverse-DNS name like com.acme.payments')
  if (id === undefined) {
    return fields.has('id')
      ? undefined
      : reader.problem(root, 'the manifest has no id', 'write id: com.acme.payments')
  }
  if (isOurs(id)) reader.problem(root, `${id} is the gate's own name`, 'use a name of yours')
  const format =
    reader.oneOf(fields.get('manifest'), ['gate.constraints/v1', 'gate.constraints/v2']) ??
    'gate.constraints/v2'
  reader.oneOf(reader.fields(fields.get('default'), ['no_match'])?.get('no_match'), ['deny'])
  const drafts = readRules(reader, root, fields, {
    id,
    version: format === 'gate.constraints/v1' ? 'v1' : 'v2',
    server: reader.text(fields.get('server'), SERVER_NAME, "a server's name like files") ?? null,
  })
  const constraints = readConstraints(reader, fields, id, drafts)
  const object = expandObject(reader, fields.get('object'), drafts)
  const manifest: Manifest = {
    manifest: format,
    id,
    version: reader.text(fields.get('version'), /^[\w.+-]{1,64}$/, 'a version like 1.4.0') ?? '1',
    mode: reader.oneOf(fields.get('mode'), ['enforce', 'observe']) ?? 'enforce',
    default: { no_match: 'deny' },
    upstream:
      reader.text(fields.get('upstream'), /^[a-z0-9][a-z0-9_-]{0,63}$/, "an upstream's name") ??
      'default',
    ...(object === undefined ? {} : { object }),
    rules: drafts.map(({ rule }) => rule),
    constraints,
    tests: expandTests(reader, fields.get('tests'), id, drafts),
  }
  checkManifest(reader, manifest, drafts)
  return manifest
}

function readRules(
  reader: Reader,
  root: Node,
  fields: Fields,
  of: RuleSetting,
): readonly RuleDraft[] {
  const tools = fields.get('tools')
  const rules = fields.get('rules')
  if (tools !== undefined && rules !== undefined) {
    reader.problem(rules, 'both tools and rules', 'write one of them: rules is the full form')
    return []
  }
  const drafts =
    tools !== undefined
      ? [...(reader.fields(tools, null) ?? [])].map(([name, node]) =>
          expandRule(reader, node, TOOL_KEYS, name, of),
        )
      : (reader.list(rules) ?? []).map((node) => expandRule(reader, node, RULE_KEYS, null, of))
  if (drafts.length === 0 && reader.problems.length === 0) {
    reader.problem(root, 'the manifest has no tool', 'write tools: {name: {match: …}}')
  }
  return drafts.filter((draft) => draft !== undefined)
}

/** Shared ones stand at the top; a tool's own ones stand in the tool, under ids as unique as those. */
function readConstraints(
  reader: Reader,
  fields: Fields,
  id: string,
  drafts: readonly RuleDraft[],
): Record<string, Constraint> {
  const out = record<Constraint>()
  const add = (name: string, node: Node, users: readonly RuleDraft[]): void => {
    const full = qualify(name, id)
    if (full === null) {
      reader.problem(node, `"${name}" is no constraint id`, 'use lower-case snake_case')
    } else if (full in out) {
      reader.problem(
        node,
        `the constraint ${full} is there twice`,
        'give each its own id, or write it once under constraints and list it in both tools',
      )
    } else if (users.length === 0) {
      reader.problem(node, `no tool uses the constraint ${full}`, 'list it in a tool or remove it')
    } else {
      const constraint = expandConstraint(reader, node, users)
      if (constraint !== undefined) out[full] = constraint
    }
  }
  for (const [name, node] of reader.fields(fields.get('constraints'), null) ?? []) {
    const full = qualify(name, id)
    add(
      name,
      node,
      drafts.filter(({ rule }) => full !== null && rule.constraints.includes(full)),
    )
  }
  for (const draft of drafts) {
    for (const [name, node] of draft.inline) add(name, node, [draft])
  }
  return out
}
