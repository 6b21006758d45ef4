import type { Lost, TestDraft, TestValue } from '../draft.js'
import type { Args, Found } from './schema.js'

/** A call that should pass and one that should not, made from the description itself. */
export function exampleTests(found: Args, note: Lost): readonly TestDraft[] {
  const isConstrained = ({ conditions }: Found): boolean => Object.keys(conditions).length > 0
  const constrained = Object.entries(found).filter(([, one]) => isConstrained(one))
  if (constrained.length === 0) return []
  const args: Record<string, TestValue> = Object.create(null)
  for (const [name, one] of Object.entries(found)) {
    if (one.optional && !isConstrained(one)) continue
    const value = passing(one)
    if (value !== null) args[name] = value
    else if (!one.optional) {
      note(`no test was written: nothing is known to fit ${name}`)
      return []
    }
  }
  const blocked = constrained.flatMap(([name, one]) => {
    const wrong = failing(one)
    return wrong === null ? [] : [{ args: { ...args, [name]: wrong }, expect: 'blocked' as const }]
  })
  return [{ args, expect: 'pass' }, ...blocked.slice(0, 1)]
}

const MAX_TEXT = 4096

function limit(bound: Found['conditions'][string] | undefined, end: 'min' | 'max'): number | null {
  const value = typeof bound === 'object' && !Array.isArray(bound) ? Object(bound)[end] : undefined
  return typeof value === 'number' ? value : null
}

function passing({ type, conditions }: Found): TestValue | null {
  const { in: listed, length, range, gte, lte } = conditions
  if (Array.isArray(listed)) return (listed[0] as TestValue | undefined) ?? null
  if (conditions.matches !== undefined) return null
  switch (type) {
    case 'string': {
      const least = limit(length, 'min') ?? 1
      const most = limit(length, 'max') ?? least
      return least > MAX_TEXT ? null : 'x'.repeat(Math.min(least, most))
    }
    case 'strings':
      return Array.from({ length: Math.min(limit(length, 'min') ?? 0, 100) }, () => 'x')
    case 'integer':
      return limit(range, 'min') ?? Math.min(1, limit(range, 'max') ?? 1)
    case 'decimal':
      return String(gte ?? lte ?? '1')
    case 'boolean':
      return true
    default:
      return null
  }
}

function failing({ type, conditions }: Found): TestValue | null {
  const { in: listed, length, range, lte } = conditions
  if (Array.isArray(listed)) {
    if (type === 'string') return `not-${String(listed[0])}`
    const numbers = listed.filter((value): value is number => typeof value === 'number')
    return Math.max(...numbers) + 1
  }
  const most = limit(type === 'integer' ? range : length, 'max')
  if (type === 'integer') return most === null ? null : most + 1
  if (type === 'string') return most === null || most >= MAX_TEXT ? null : 'x'.repeat(most + 1)
  if (type === 'decimal' && typeof lte === 'string') {
    return lte.startsWith('-') ? '0' : `${lte.split('.')[0]}9`
  }
  return null
}
