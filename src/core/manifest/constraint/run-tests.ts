import type { Hashing } from '../../crypto/crypto.js'
import { canonicalOf } from '../../json/build.js'
import { JsonNumber, type JsonValue, type Plain } from '../../json/value.js'
import type { Manifest, ManifestTest, ToolRule } from '../model.js'
import type { Args } from '../route/read-result.js'
import { type Consequence, consequence, evaluate } from './evaluate.js'
import { type Facts, usesClock } from './inputs.js'
import type { Result } from './predicates.js'
import { type ArgValue, typedValue } from './typed-value.js'

export type TestFailure = {
  /** As listed, from 1. */
  readonly number: number
  readonly tool: string
  readonly expected: string
  readonly got: string
}

/** The manifest's own tests, at load. Windows are empty: nothing was spent before. */
export function runTests(manifest: Manifest, crypto: Hashing): readonly TestFailure[] {
  return manifest.tests.flatMap((test, index) => {
    const rule = manifest.rules.find(({ tool }) => tool === test.tool)
    const got = rule === undefined ? 'no such tool' : runTest(manifest, rule, test, crypto)
    const { tool, expect } = test
    return got === null ? [] : [{ number: index + 1, tool, expected: describe(expect), got }]
  })
}

/** What came instead of what the test expects; null where it is that. */
function runTest(
  manifest: Manifest,
  rule: ToolRule,
  test: ManifestTest,
  crypto: Hashing,
): string | null {
  const args = typedArgs(rule, test)
  if (typeof args === 'string') return args
  const facts: Facts = {
    args,
    body: test.body === undefined ? null : canonicalOf(test.body),
    agent: 'test-agent',
    operator: 'test-operator',
    tool: rule.tool,
  }
  const results = new Map<string, Result>()
  const consequences: Consequence[] = []
  for (const id of rule.constraints) {
    const constraint = manifest.constraints[id]
    if (constraint === undefined) return `no constraint ${id}`
    if (usesClock(constraint.predicate) && test.at === undefined) {
      return `${id} reads the clock: give the test an at`
    }
    const moment = { now: test.at ?? '1970-01-01T00:00:00Z', prior: '0' }
    const { result } = evaluate(id, constraint, facts, moment, crypto)
    results.set(id, result)
    consequences.push(consequence(constraint, result))
  }
  const verdict = verdictOf(consequences)
  const wanted = Object.entries(test.expect.constraints ?? {})
  if (verdict === test.expect.verdict && wanted.every(([id, r]) => results.get(id) === r))
    return null
  const asked = wanted.map(([id]) => [id, results.get(id) ?? 'not asked'] as const)
  return describe({ verdict, constraints: Object.fromEntries(asked) })
}

const describe = (outcome: { verdict: string; constraints?: Readonly<Record<string, string>> }) =>
  [
    outcome.verdict,
    ...Object.entries(outcome.constraints ?? {}).map(([id, result]) => `${id} ${result}`),
  ].join(', ')

/** The gravest consequence is the verdict of a rule's constraints together. */
export function verdictOf(consequences: readonly Consequence[]): 'pass' | 'blocked' | 'ask' {
  if (consequences.includes('block')) return 'blocked'
  return consequences.includes('hitl') ? 'ask' : 'pass'
}

function typedArgs(rule: ToolRule, test: ManifestTest): Args | string {
  const args = new Map<string, ArgValue>()
  for (const [name, arg] of Object.entries(rule.args)) {
    const given = Object.hasOwn(test.args, name) ? test.args[name] : null
    if (given === null || given === undefined) {
      if (arg.optional) continue
      return `the test lacks the argument ${name}`
    }
    const value = typedValue(arg.type, { kind: 'json', value: lossless(given) })
    if (value === null) return `the test's ${name} is not a ${arg.type}`
    args.set(name, value)
  }
  return args
}

function lossless(value: Plain | undefined): JsonValue {
  if (value === undefined) return null
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (Array.isArray(value)) return value.map(lossless)
  if (value !== null && typeof value === 'object') {
    return new Map(Object.entries(value).map(([name, member]) => [name, lossless(member)]))
  }
  return value as JsonValue
}
