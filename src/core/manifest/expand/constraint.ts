import type { Plain } from '../../json/value.js'
import { isWindowed } from '../constraint/claims.js'
import { KINDS } from '../constraint/kinds.js'
import { inputsOf, leavesOf, thresholdsOf } from '../constraint/leaves.js'
import { schemaFault } from '../constraint/schema.js'
import { type ArgType, type Constraint, type Predicate, SOURCES } from '../model.js'
import { readPredicate } from './full-form.js'
import { hollowMember, literalFault } from './literals.js'
import { NAMESPACED } from './names.js'
import type { RuleDraft } from './rule.js'
import { readShortForm } from './short-form.js'
import { type Fields, type Node, type Reader, record } from './tree.js'

const OPTIONS = ['check_type', 'method', 'severity', 'on_fail', 'on_error']
const FULL = [...OPTIONS, 'select', 'evidence_schema', 'thresholds', 'predicate']

/** The full form is recognized by its `predicate`; anything else is the short one beside its options. */
export function expandConstraint(
  reader: Reader,
  node: Node,
  users: readonly RuleDraft[],
): Constraint | undefined {
  const before = reader.problems.length
  const open = reader.fields(node, null)
  if (open === undefined) return undefined
  const full = open.has('predicate')
  const fields = full ? reader.fields(node, FULL) : open
  if (fields === undefined) return undefined
  const args = new Set(users.flatMap(({ rule }) => Object.keys(rule.args)))
  const clash = OPTIONS.find((option) => !full && args.has(option))
  if (clash !== undefined) {
    return reader.problem(node, `"${clash}" is an option and an argument`, 'use the full form')
  }
  const { predicate, thresholds } = full
    ? {
        predicate: readPredicate(reader, fields.get('predicate')),
        thresholds: readThresholds(reader, fields.get('thresholds')),
      }
    : readShortForm(
        reader,
        node,
        new Map([...open].filter(([name]) => !OPTIONS.includes(name))),
        new Set([...args, ...SOURCES]),
      )
  if (predicate === undefined) return undefined
  checkThresholds(reader, node, predicate, thresholds)
  const select = readSelect(reader, full ? fields.get('select') : undefined, node, predicate)
  if (reader.problems.length > before) return undefined
  return {
    check_type:
      label(reader, fields, 'check_type') ?? `dev.capsulegate.${KINDS[predicate.kind].category}`,
    method: label(reader, fields, 'method') ?? `dev.capsulegate.${predicate.kind}`,
    severity: reader.oneOf(fields.get('severity'), ['low', 'medium', 'high', 'critical']) ?? 'high',
    on_fail: reader.oneOf(fields.get('on_fail'), ['block', 'hitl', 'warn']) ?? 'block',
    on_error: reader.oneOf(fields.get('on_error'), ['block', 'hitl']) ?? 'block',
    select,
    evidence_schema:
      readEvidenceSchema(reader, full ? fields.get('evidence_schema') : undefined) ??
      evidenceSchema(predicate, select, users),
    thresholds,
    predicate,
  }
}

/** Seed §8.1: labels are namespaced lower-case categories. */
const label = (reader: Reader, fields: Fields, name: string): string | undefined =>
  reader.text(fields.get(name), NAMESPACED, 'a namespaced label like com.acme.threshold')

function readThresholds(reader: Reader, node: Node | undefined): Record<string, Plain> {
  return record(
    [...(reader.fields(node, null) ?? [])].map(([name, member]) => [
      name,
      reader.plain(member) ?? null,
    ]),
  )
}

function checkThresholds(
  reader: Reader,
  node: Node,
  predicate: Predicate,
  thresholds: Readonly<Record<string, Plain>>,
): void {
  const used = new Set<string>()
  for (const { predicate: leaf, nested } of leavesOf(predicate)) {
    if (nested && isWindowed(leaf)) {
      reader.problem(
        node,
        `${leaf.kind} stands inside another predicate`,
        'make it a constraint of its own: a budget is claimed or it is not',
      )
    }
    for (const [role, { threshold, by }] of thresholdsOf(leaf)) {
      used.add(threshold)
      const value = thresholds[threshold]
      const many = by !== undefined
      if (value === undefined || (many && !isLookup(value))) {
        const shape = many ? `a mapping by ${by}` : 'a value'
        reader.problem(node, `the threshold ${threshold} is not ${shape}`, 'write it')
        continue
      }
      for (const literal of many ? Object.values(value as Record<string, Plain>) : [value]) {
        const fault = literalFault(role, literal)
        if (fault !== null) reader.problem(node, `${threshold}: ${fault}`, 'correct the value')
      }
    }
  }
  for (const name of Object.keys(thresholds)) {
    if (!used.has(name)) reader.problem(node, `nothing uses the threshold ${name}`, 'remove it')
  }
}

const isLookup = (value: Plain): boolean =>
  value !== null &&
  typeof value === 'object' &&
  !Array.isArray(value) &&
  Object.keys(value).length > 0

function readSelect(
  reader: Reader,
  given: Node | undefined,
  node: Node,
  predicate: Predicate,
): Record<string, string> {
  const read = new Set(leavesOf(predicate).flatMap((leaf) => inputsOf(leaf.predicate)))
  const fields = reader.fields(given, null)
  if (fields === undefined) return record([...read].map((name) => [name, name]))
  const select = record<string>()
  for (const [name, member] of fields) {
    const source = reader.text(member, /^.{1,64}$/, 'an argument or a source like $body')
    if (source === undefined) continue
    if (name.startsWith('$') && name !== source) {
      reader.problem(member, `${name} is the gate's own name`, 'choose a name without $')
    } else if (!read.has(name)) {
      reader.problem(member, `the predicate does not read ${name}`, 'remove it')
    } else select[name] = source
  }
  for (const name of read) {
    if (!(name in select)) reader.problem(node, `select lacks ${name}`, 'add it, or omit select')
  }
  return select
}

function readEvidenceSchema(reader: Reader, node: Node | undefined): Plain | undefined {
  const schema = reader.plain(node)
  if (node === undefined || schema === undefined) return undefined
  const fault = schemaFault(schema) ?? hollowMember(schema)
  return fault === null
    ? schema
    : reader.problem(node, `evidence_schema: ${fault}`, 'correct the schema')
}

const FORM: Readonly<Record<ArgType, Plain>> = {
  string: { type: 'string' },
  integer: { type: 'string', pattern: '^-?(0|[1-9][0-9]*)$' },
  decimal: { type: 'string', pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$' },
  boolean: { type: 'boolean' },
  strings: {
    type: 'object',
    required: ['count'],
    additionalProperties: false,
    properties: {
      count: { type: 'integer' },
      items: { type: 'array', items: { type: 'string' } },
    },
  },
  object: { type: 'string' },
  objects: { type: 'string' },
}

/** What the evidence of these inputs looks like (core/manifest/constraint/inputs.ts `evidenceForm`). */
function evidenceSchema(
  predicate: Predicate,
  select: Readonly<Record<string, string>>,
  users: readonly RuleDraft[],
): Plain {
  const args = users[0]?.rule.args ?? {}
  const required = new Set(
    leavesOf(predicate).flatMap((leaf) => (leaf.needed ? inputsOf(leaf.predicate) : [])),
  )
  const properties = Object.entries(select).map(([name, source]): [string, Plain] => {
    const arg = Object.hasOwn(args, source) ? args[source] : undefined
    return [name, arg === undefined ? { type: 'string' } : FORM[arg.type]]
  })
  return {
    type: 'object',
    additionalProperties: false,
    ...(properties.length === 0 ? {} : { properties: record(properties) }),
    ...(required.size === 0 ? {} : { required: [...required].sort() }),
  }
}
