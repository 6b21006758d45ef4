import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import { type Finding, fault, hasFaults, warning } from '../findings.js'
import { type LoadedPolicy, type PolicySet, policySet } from '../policy-set.js'
import { type ActionShape, cedarSchema, type PolicyRule, type PolicySchema } from '../schema.js'
import { type Annotated, readAnnotations } from './annotations.js'
import { intentUsesOf, usesOf } from './argument-buckets.js'
import { depthOf } from './expression.js'
import { readPolicyFiles } from './files.js'
import { lintPolicy } from './lint.js'
import { rehearse } from './rehearse.js'
import { scopeOf } from './scope.js'
import { type PolicyText, splitPolicies } from './split.js'
import { crash, fromCedar, validationFindings } from './validation.js'
import { type CedarWorker, startWorker } from './worker.js'

export type LoadResult =
  | { readonly ok: true; readonly set: PolicySet; readonly warnings: readonly Finding[] }
  | { readonly ok: false; readonly findings: readonly Finding[] }

type Parsed = Annotated & { readonly source: PolicyText; readonly json: PolicyJson }

/**
 * Levels of expression nesting. Cedar recurses once per level and exhausts the stack somewhere past a
 * hundred, at evaluation first and depending on the data: keep well below.
 */
const MAX_DEPTH = 64

/**
 * Reads, parses, strictly validates and lints a folder of policies, the untrusted steps in a worker.
 * Nothing here touches the instance that decides.
 */
export async function loadPolicies(
  folder: string,
  rules: readonly PolicyRule[],
): Promise<LoadResult> {
  const schema = cedarSchema(rules)
  if (!schema.ok) return schema
  const read = await readPolicyFiles(folder)
  const split = read.files.map(({ name, content }) => splitPolicies(name, content))
  const texts = split.flatMap(({ policies }) => policies)
  const findings = [...read.findings, ...split.flatMap((file) => file.findings)]
  if (hasFaults(findings)) return { ok: false, findings }
  if (texts.length === 0) {
    return { ok: false, findings: [fault('set_empty', null, `no policy in ${folder}`)] }
  }
  const worker = startWorker()
  try {
    return await check(worker, texts, schema.schema)
  } finally {
    await worker.close()
  }
}

async function check(
  worker: CedarWorker,
  texts: readonly PolicyText[],
  schema: PolicySchema,
): Promise<LoadResult> {
  const parsed = await parseAll(worker, texts)
  if (hasFaults(parsed.findings)) return { ok: false, findings: parsed.findings }

  const invalid = await validateAll(worker, parsed.value, schema)
  if (hasFaults(invalid)) return { ok: false, findings: invalid }

  const linted = parsed.value.flatMap(({ json, source }) =>
    lintPolicy(json, actionsOf(json, schema), source),
  )
  const findings = [...invalid, ...linted, ...lintSet(parsed.value)]
  if (hasFaults(findings)) return { ok: false, findings }

  const set = policySet(
    schema,
    parsed.value.map((policy) => loaded(policy, actionsOf(policy.json, schema))),
  )
  const crashes = await rehearse(worker, set)
  if (hasFaults(crashes)) return { ok: false, findings: crashes }
  return { ok: true, set, warnings: findings }
}

/** Each policy by itself, so that a crash has a location. */
async function parseAll(worker: CedarWorker, texts: readonly PolicyText[]) {
  const results = await worker.call(
    'policyToJson',
    texts.map(({ text }) => [text]),
  )
  if (!results.ok) return { value: [], findings: [crash(results, texts)] }
  const value: Parsed[] = []
  const findings: Finding[] = []
  const locations = new Map<string, PolicyText>()
  texts.forEach((source, index) => {
    const parsed = results.values[index]
    if (parsed?.type !== 'success') {
      findings.push(...(parsed?.errors ?? []).map((e) => fromCedar('policy_syntax', source, e)))
      return
    }
    const depth = depthOf(parsed.json)
    if (depth > MAX_DEPTH) {
      const help = 'use [ … ].contains(…) for a long list of alternatives, or several policies'
      const message = `an expression ${depth} levels deep; at most ${MAX_DEPTH} are evaluated`
      findings.push(fault('policy_too_deep', source, message, help))
      return
    }
    const annotations = readAnnotations(parsed.json, source)
    if (!annotations.ok) {
      findings.push(...annotations.findings)
      return
    }
    const { id } = annotations.value
    const first = locations.get(id)
    if (first !== undefined) {
      const message = `@id("${id}") is already at ${first.file}:${first.line}`
      findings.push(fault('id_duplicate', source, message))
      return
    }
    locations.set(id, source)
    value.push({ ...annotations.value, source, json: parsed.json })
  })
  return { value, findings }
}

async function validateAll(
  worker: CedarWorker,
  policies: readonly Parsed[],
  schema: PolicySchema,
): Promise<readonly Finding[]> {
  const staticPolicies = Object.fromEntries(policies.map(({ id, source }) => [id, source.text]))
  const results = await worker.call('validate', [
    [{ schema: schema.json, policies: { staticPolicies }, validationSettings: { mode: 'strict' } }],
  ])
  if (!results.ok) return [crash({ ...results, at: null }, [])]
  const sources = new Map(policies.map(({ id, source }) => [id, source]))
  return results.values.flatMap((result) => validationFindings(result, sources))
}

/**
 * The actions a policy is about: what the engine slices the set by. Its scope says it exactly, as the
 * schema has no action groups, and validation has refused actions that do not exist.
 */
function actionsOf({ action }: PolicyJson, { actions }: PolicySchema): readonly ActionShape[] {
  if (action.op === 'All') return actions
  if ('slot' in action) return []
  const entities = 'entities' in action ? action.entities : [action.entity]
  const ids = new Set(entities.map((uid) => ('__entity' in uid ? uid.__entity.id : uid.id)))
  return actions.filter((shape) => ids.has(shape.action))
}

function lintSet(policies: readonly Parsed[]): Finding[] {
  if (policies.some(({ mode }) => mode === 'enforce')) return []
  return [warning('nothing_enforced', null, 'every policy is observed: all is denied')]
}

const loaded = (
  { source, json, ...annotations }: Parsed,
  actions: readonly ActionShape[],
): LoadedPolicy => ({
  ...annotations,
  ...source,
  effect: json.effect,
  actions: actions.map(({ action }) => action),
  uses: usesOf(json),
  intentUses: intentUsesOf(json),
  scope: scopeOf(json),
  isConditional: json.conditions.length > 0,
})
