import type { SchemaJson, Type } from '@cedar-policy/cedar-wasm/nodejs'
import { canonicalOf } from '../../core/json/build.js'
import type { Plain } from '../../core/json/value.js'
import type { Arg, PolicyArgType, ToolRule } from '../../core/manifest/model.js'
import { isWellFormed } from './evaluate/values.js'
import { type Finding, fault } from './findings.js'
import { type IntentMode, intentAttributes, record } from './intent-schema.js'

/** What the schema needs of a manifest rule. */
export type PolicyRule = Pick<ToolRule, 'tool' | 'action' | 'intent'> & {
  readonly args: { readonly [name: string]: Pick<Arg, 'type' | 'optional'> }
}
export type ActionShape = {
  readonly action: string
  /** Sorted by name. */
  readonly args: readonly ArgShape[]
  /** Absent: neither declaration nor mandate is in the context. */
  readonly intent?: IntentMode
}
export type ArgShape = {
  readonly name: string
  readonly type: PolicyArgType
  readonly optional: boolean
}
export type PolicySchema = {
  /** Sorted by name. */
  readonly actions: readonly ActionShape[]
  readonly json: SchemaJson<string>
  /** Canonical JSON of it: what the policy digest covers. */
  readonly text: string
}
export type SchemaResult =
  | { readonly ok: true; readonly schema: PolicySchema }
  | { readonly ok: false; readonly findings: readonly Finding[] }

/** DESIGN §1: the schema is generated from `args`; operators never write one. */
export function cedarSchema(rules: readonly PolicyRule[]): SchemaResult {
  const findings: Finding[] = []
  const seen = new Map<string, { tool: string; shape: ActionShape }>()
  for (const rule of rules) {
    findings.push(...reservedNames(rule))
    const shape = shapeOf(rule)
    const other = seen.get(rule.action)
    if (other === undefined) seen.set(rule.action, { tool: rule.tool, shape })
    else findings.push(...differences(rule, shape, other))
  }
  if (findings.length > 0) return { ok: false, findings }
  const actions = [...seen.values()].map(({ shape }) => shape).sort(by((s) => s.action))
  const json = schemaFor(actions)
  // Cedar's type of it does not say that it is plain JSON; a copy of it is.
  const plain: Plain = JSON.parse(JSON.stringify(json))
  return { ok: true, schema: { actions, json, text: canonicalOf(plain) } }
}

/** An action has one schema, whichever of its tools is called. */
function differences(
  { tool, action }: PolicyRule,
  shape: ActionShape,
  other: { readonly tool: string; readonly shape: ActionShape },
): Finding[] {
  const shared = `tools "${other.tool}" and "${tool}" share the action "${action}" but`
  const findings: Finding[] = []
  if (JSON.stringify(other.shape.args) !== JSON.stringify(shape.args)) {
    findings.push(fault('action_args_differ', null, `${shared} declare different args`))
  }
  if (other.shape.intent !== shape.intent) {
    const modes = [other.shape.intent ?? 'off', shape.intent ?? 'off'].join(' and ')
    findings.push(fault('action_intent_differs', null, `${shared} not its intent: ${modes}`))
  }
  return findings
}

/**
 * Evaluation pays for every action its schema declares, so the engine preparses one of these per
 * action. There are no action groups, so nothing about one action depends on another.
 */
export function schemaFor(actions: readonly ActionShape[]): SchemaJson<string> {
  const developer = record({ developer: { type: 'String' } })
  const irreversibility = record({ irreversibility: { type: 'String' } })
  const entityTypes = {
    Role: {},
    Agent: { memberOfTypes: ['Role'], shape: developer },
    Tool: { shape: irreversibility },
  }
  return { '': { entityTypes, actions: Object.fromEntries(actions.map(actionType)) } }
}

function actionType({ action, args, intent }: ActionShape) {
  const types = args.map(({ name, type, optional }) => [
    name,
    { ...TYPES[type], required: !optional },
  ])
  const context = record({
    args: record(Object.fromEntries(types)),
    approval: record({ granted: { type: 'Boolean' } }),
    ...(intent === undefined ? {} : intentAttributes(intent)),
  })
  const appliesTo = { principalTypes: ['Agent'], resourceTypes: ['Tool'], context }
  return [action, { appliesTo }] as const
}

const TYPES: Readonly<Record<PolicyArgType, Type<string>>> = {
  string: { type: 'String' },
  integer: { type: 'Long' },
  decimal: { type: 'Extension', name: 'decimal' },
  boolean: { type: 'Boolean' },
  strings: { type: 'Set', element: { type: 'String' } },
}

const shapeOf = (rule: PolicyRule): ActionShape => ({
  action: rule.action,
  // Objects are shown to people as a whole; policies cannot read them.
  args: Object.entries(rule.args)
    .flatMap(([name, { type, optional }]) =>
      type === 'object' || type === 'objects' ? [] : [{ name, type, optional }],
    )
    .sort(by((arg) => arg.name)),
  ...(rule.intent === undefined ? {} : { intent: rule.intent }),
})

/** Cedar's JSON reads a record with `__entity` or `__extn` as something else: no argument may be called so. */
const reservedNames = (rule: PolicyRule): Finding[] =>
  [rule.action, ...Object.keys(rule.args)]
    .filter((name) => name === '' || name.startsWith('__') || !isWellFormed(name))
    .map((name) =>
      fault(
        'name_reserved',
        null,
        `tool "${rule.tool}": ${JSON.stringify(name)} cannot be the name of an action or argument`,
      ),
    )

const by =
  <T>(key: (value: T) => string) =>
  (a: T, b: T): number =>
    key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0
