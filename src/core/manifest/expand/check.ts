import type { Plain } from '../../json/value.js'
import { type InputType, KINDS } from '../constraint/kinds.js'
import { inputsOf, type LeafPredicate, leavesOf, thresholdsOf } from '../constraint/leaves.js'
import { type Constraint, httpMatchOf, type Manifest, SOURCES } from '../model.js'
import { coversOnServer } from '../route/match-server.js'
import { readingOf } from '../route/reading.js'
import { templateCovers } from '../route/template.js'
import type { RuleDraft } from './rule.js'
import type { Reader } from './tree.js'

/** What only the whole shows: rules against their constraints, and rules against each other. */
export function checkManifest(
  reader: Reader,
  manifest: Manifest,
  drafts: readonly RuleDraft[],
): void {
  for (const [index, draft] of drafts.entries()) {
    checkReach(reader, draft, drafts.slice(0, index))
    checkConnection(reader, draft, manifest)
    for (const id of draft.rule.constraints) {
      const constraint = manifest.constraints[id]
      if (constraint !== undefined) checkUse(reader, draft, id, constraint)
      else if (reader.problems.length === 0) {
        reader.problem(draft.node, `there is no constraint ${id}`, 'write it under constraints')
      }
    }
  }
}

function checkReach(reader: Reader, draft: RuleDraft, earlier: readonly RuleDraft[]): void {
  for (const other of earlier) {
    const both = draft.rule.match === null && other.rule.match === null
    if (both && draft.rule.tool === other.rule.tool) {
      reader.problem(draft.node, `two rules for the function ${draft.rule.tool}`, 'keep one')
    }
    if (coversOnServer(other.rule.match, draft.rule.match)) {
      reader.problem(
        draft.node,
        `never reached: ${other.rule.tool} matches everything that ${draft.rule.tool} would`,
        'put the narrower name first',
      )
    }
    if (draft.template === null || other.template === null) continue
    if (httpMatchOf(draft.rule)?.method !== httpMatchOf(other.rule)?.method) continue
    if (templateCovers(other.template, draft.template)) {
      reader.problem(
        draft.node,
        `never reached: ${other.rule.tool} matches everything that ${draft.rule.tool} would`,
        'put the narrower path first',
      )
    }
  }
}

function checkConnection(reader: Reader, { rule, node }: RuleDraft, manifest: Manifest): void {
  if (rule.also?.body !== 'any' || rule.connection !== 'pooled') return
  if (readingOf(rule, manifest).members !== null) return
  reader.problem(
    node,
    'a body that is let through unread may not share a connection',
    'drop connection: pooled, or read the body',
  )
}

const SELECTS: readonly InputType[] = ['string', 'integer', 'boolean']
const COUNTED: readonly InputType[] = ['string', 'integer', 'decimal', 'boolean', 'strings']

function checkUse(reader: Reader, draft: RuleDraft, id: string, constraint: Constraint): void {
  const { rule, node } = draft
  const typeOf = (input: string): InputType | undefined => {
    const source = constraint.select[input] ?? ''
    if (source === '$body') return 'json'
    if (SOURCES.some((known) => known === source)) return 'string'
    return Object.hasOwn(rule.args, source) ? rule.args[source]?.type : undefined
  }
  for (const [input, source] of Object.entries(constraint.select)) {
    if (typeOf(input) === undefined) {
      reader.problem(node, `${id} reads ${source}, which ${rule.tool} has not`, 'add it to args')
    }
  }
  for (const { predicate } of leavesOf(constraint.predicate)) {
    const own = 'input' in predicate ? predicate.input : null
    for (const input of inputsOf(predicate)) {
      const type = typeOf(input)
      const takes = input === own ? KINDS[predicate.kind].takes : COUNTED
      if (type !== undefined && !takes.includes(type)) {
        const usable = takes.join(', ')
        reader.problem(node, `${id}: ${predicate.kind} cannot read a ${type}`, `it takes ${usable}`)
      }
      if (input === own && type !== undefined)
        checkLiterals(reader, draft, id, constraint, predicate, type)
    }
    for (const [, { by }] of thresholdsOf(predicate)) {
      const type = by === undefined ? 'string' : typeOf(by)
      if (type !== undefined && !SELECTS.includes(type)) {
        reader.problem(node, `${id}: a ${type} selects no threshold`, 'look up by another input')
      }
    }
  }
}

/** A literal of another type than the argument would never be equal, without any error. */
function checkLiterals(
  reader: Reader,
  draft: RuleDraft,
  id: string,
  constraint: Constraint,
  predicate: LeafPredicate,
  type: InputType,
): void {
  for (const [role, { threshold, by }] of thresholdsOf(predicate)) {
    if (role !== 'scalar' && role !== 'set') continue
    const value = constraint.thresholds[threshold] ?? null
    const literals = (by === undefined ? [value] : Object.values(value as object)).flat() as Plain[]
    const wrong = literals.find((literal) => !comparable(type, literal))
    if (wrong === undefined) continue
    reader.problem(
      draft.node,
      `${id}: ${JSON.stringify(wrong)} is never equal to a ${type}`,
      type === 'string' || type === 'strings' ? 'put it in quotes' : `write a ${type}`,
    )
  }
}

function comparable(type: InputType, literal: Plain): boolean {
  switch (type) {
    case 'string':
    case 'strings':
      return typeof literal === 'string'
    case 'boolean':
      return typeof literal === 'boolean'
    case 'integer':
      return (
        typeof literal === 'number' ||
        (typeof literal === 'string' && /^(?:0|-?[1-9][0-9]*)$/.test(literal))
      )
    case 'decimal':
    case 'json':
    case 'object':
    case 'objects':
      return false
  }
}
