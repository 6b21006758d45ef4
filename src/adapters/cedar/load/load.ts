import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import { type Finding, fault, hasFaults, warning } from '../findings.js'
import { type LoadedPolicy, type PolicySet, policySet } from '../policy-set.js'
import { type ActionShape, cedarSchema, type PolicyRule, type PolicySchema } from '../schema.js'
import { type Annotated, readAnnotations } from './annotations.js'
import { depthOf } from './expression.js'
import { readPolicyFiles } from './files.js'
import { type Inspector, openInspector } from './inspect.js'
import { lintPolicy } from './lint.js'
import { looksOf } from './looks.js'
import { rehearse } from './rehearse.js'
import { type PolicyText, splitPolicies } from './split.js'
import { crash, fromCedar, validationFindings } from './validation.js'

export type LoadResult =
  | { readonly ok: true; readonly set: PolicySet; readonly warnings: readonly Finding[] }
  | { readonly ok: false; readonly findings: readonly Finding[] }

type Parsed = Annotated & { readonly source: PolicyText; readonly json: PolicyJson }
type ParseStep = { readonly value: readonly Parsed[]; readonly findings: readonly Finding[] }

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
    const help = 'write at least one permit: without one everything is denied'
    return { ok: false, findings: [fault('set_empty', null, `no policy in ${folder}`, help)] }
  }
  const inspector = openInspector()
  try {
    return await inspectAll(inspector, texts, schema.schema)
  } finally {
    await inspector.close()
  }
}

async function inspectAll(
  inspector: Inspector,
  texts: readonly PolicyText[],
  schema: PolicySchema,
): Promise<LoadResult> {
  const parsed = await parseAll(inspector, texts)
  if (hasFaults(parsed.findings)) return { ok: false, findings: parsed.findings }

  const invalid = await validateAll(inspector, parsed.value, schema)
  if (hasFaults(invalid)) return { ok: false, findings: invalid }

  const linted = parsed.value.flatMap(({ json, source }) =>
    lintPolicy(json, scopeOf(json, schema), source),
  )
  const findings = [...invalid, ...linted, ...lintSet(parsed.value)]
  if (hasFaults(findings)) return { ok: false, findings }

  const set = policySet(
    schema,
    parsed.value.map((policy) => loaded(policy, scopeOf(policy.json, schema))),
  )
  const crashes = await rehearse(inspector, set)
  if (hasFaults(crashes)) return { ok: false, findings: crashes }
  return { ok: true, set, warnings: findings }
}

/** Each policy by itself, so that its id is its own and a crash has a place. */
async function parseAll(inspector: Inspector, texts: readonly PolicyText[]): Promise<ParseStep> {
  const answers = await inspector.ask(
    'policyToJson',
    texts.map(({ text }) => [text]),
  )
  if (!answers.ok) return { value: [], findings: [crash(answers, texts)] }
  const value: Parsed[] = []
  const findings: Finding[] = []
  const places = new Map<string, PolicyText>()
  texts.forEach((source, index) => {
    const answer = answers.values[index]
    if (answer?.type !== 'success') {
      findings.push(...(answer?.errors ?? []).map((e) => fromCedar('policy_syntax', source, e)))
      return
    }
    const depth = depthOf(answer.json)
    if (depth > MAX_DEPTH) {
      const help = 'use [ … ].contains(…) for a long list of alternatives, or several policies'
      const message = `an expression ${depth} levels deep; at most ${MAX_DEPTH} are evaluated`
      findings.push(fault('policy_too_deep', source, message, help))
      return
    }
    const annotations = readAnnotations(answer.json, source)
    if (!annotations.ok) {
      findings.push(...annotations.findings)
      return
    }
    const { id } = annotations.value
    const first = places.get(id)
    if (first !== undefined) {
      const message = `@id("${id}") is already at ${first.file}:${first.line}`
      findings.push(fault('id_duplicate', source, message, 'give each policy its own id'))
      return
    }
    places.set(id, source)
    value.push({ ...annotations.value, source, json: answer.json })
  })
  return { value, findings }
}

async function validateAll(
  inspector: Inspector,
  policies: readonly Parsed[],
  schema: PolicySchema,
): Promise<readonly Finding[]> {
  const staticPolicies = Object.fromEntries(policies.map(({ id, source }) => [id, source.text]))
  const answers = await inspector.ask('validate', [
    [{ schema: schema.json, policies: { staticPolicies }, validationSettings: { mode: 'strict' } }],
  ])
  if (!answers.ok) return [crash({ ...answers, at: null }, [])]
  const sources = new Map(policies.map(({ id, source }) => [id, source]))
  return answers.values.flatMap((answer) => validationFindings(answer, sources))
}

/**
 * The actions a policy is about: what the engine slices the set by. Its scope says it exactly, as the
 * schema has no action groups, and validation has refused actions that do not exist.
 */
function scopeOf({ action }: PolicyJson, { actions }: PolicySchema): readonly ActionShape[] {
  if (action.op === 'All') return actions
  if ('slot' in action) return []
  const entities = 'entities' in action ? action.entities : [action.entity]
  const ids = new Set(entities.map((uid) => ('__entity' in uid ? uid.__entity.id : uid.id)))
  return actions.filter((shape) => ids.has(shape.action))
}

function lintSet(policies: readonly Parsed[]): Finding[] {
  if (policies.some(({ mode }) => mode === 'enforce')) return []
  const help = 'remove @mode("observe") from what should hold'
  return [warning('nothing_enforced', null, 'every policy is observed: all is denied', help)]
}

/** Cedar asks the scope first, and `==` never errors: past it nothing of the policy is evaluated. */
function agentOf({ principal }: PolicyJson): string | null {
  if (principal.op !== '==' || !('entity' in principal)) return null
  const { entity } = principal
  const { type, id } = '__entity' in entity ? entity.__entity : entity
  return type === 'Agent' ? id : null
}

const loaded = (policy: Parsed, actions: readonly ActionShape[]): LoadedPolicy => ({
  id: policy.id,
  text: policy.source.text,
  file: policy.source.file,
  line: policy.source.line,
  effect: policy.json.effect,
  hem: policy.hem,
  mode: policy.mode,
  reason: policy.reason,
  actions: actions.map(({ action }) => action),
  looks: looksOf(policy.json),
  agent: agentOf(policy.json),
})
