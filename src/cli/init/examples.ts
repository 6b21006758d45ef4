import type { TestDraft } from './draft.js'
import type { Found, Lost } from './schema.js'

type Value = TestDraft['args'][string]

/** A call that should pass and one that should not, made from the description itself. */
export function exampleTests(
  found: Readonly<Record<string, Found>>,
  tell: Lost,
): readonly TestDraft[] {
  const constrained = Object.entries(found).filter(([, one]) => Object.keys(one.conditions).length)
  if (constrained.length === 0) return []
  const args: Record<string, Value> = Object.create(null)
  for (const [name, one] of Object.entries(found)) {
    if (one.optional && Object.keys(one.conditions).length === 0) continue
    const value = passing(one)
    if (value === null && one.optional) continue
    if (value === null) {
      tell(`no test was written: nothing is known to fit ${name}`)
      return []
    }
    args[name] = value
  }
  const tests: TestDraft[] = [{ args, expect: 'pass' }]
  for (const [name, one] of constrained) {
    const wrong = failing(one)
    if (wrong !== null) {
      tests.push({ args: { ...args, [name]: wrong }, expect: 'blocked' })
      break
    }
  }
  return tests
}

const MAX_TEXT = 4096
const limit = (
  conditions: Found['conditions'],
  group: string,
  end: 'min' | 'max',
): number | null => {
  const bound = conditions[group]
  const value = typeof bound === 'object' && !Array.isArray(bound) ? Object(bound)[end] : undefined
  return typeof value === 'number' ? value : null
}

function passing({ type, conditions }: Found): Value | null {
  const listed = conditions.in
  if (Array.isArray(listed)) return (listed[0] as Value | undefined) ?? null
  if (conditions.matches !== undefined) return null
  switch (type) {
    case 'string': {
      const length = limit(conditions, 'length', 'min') ?? 1
      return length > MAX_TEXT
        ? null
        : 'x'.repeat(Math.min(length, limit(conditions, 'length', 'max') ?? length))
    }
    case 'strings':
      return Array.from(
        { length: Math.min(limit(conditions, 'length', 'min') ?? 0, 100) },
        () => 'x',
      )
    case 'integer':
      return (
        limit(conditions, 'range', 'min') ?? Math.min(1, limit(conditions, 'range', 'max') ?? 1)
      )
    case 'decimal':
      return String(conditions.gte ?? conditions.lte ?? '1')
    case 'boolean':
      return true
    case 'object':
    case 'objects':
      return null
  }
}

function failing({ type, conditions }: Found): Value | null {
  const listed = conditions.in
  if (Array.isArray(listed)) {
    if (type === 'string') return `not-${String(listed[0])}`
    const numbers = listed.filter((value): value is number => typeof value === 'number')
    return Math.max(...numbers) + 1
  }
  const most = limit(conditions, type === 'integer' ? 'range' : 'length', 'max')
  if (type === 'integer') return most === null ? null : most + 1
  if (type === 'string') return most === null || most >= MAX_TEXT ? null : 'x'.repeat(most + 1)
  if (type === 'decimal' && typeof conditions.lte === 'string') {
    return conditions.lte.startsWith('-') ? '0' : `${conditions.lte.split('.')[0]}9`
  }
  return null
}
