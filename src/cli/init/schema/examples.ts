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
const MAX_ITEMS = 100

function limit(bound: Found['conditions'][string] | undefined, end: 'min' | 'max'): number | null {
  const value = typeof bound === 'object' && !Array.isArray(bound) ? Object(bound)[end] : undefined
  return typeof value === 'number' ? value : null
}

const firstOf = (listed: Found['conditions'][string] | undefined): string | null => {
  const [first] = Array.isArray(listed) ? listed : []
  return typeof first === 'string' ? first : null
}

function passing({ type, conditions }: Found): TestValue | null {
  const { in: listed, length, range, eq, gte, gt, lte, lt } = conditions
  if (type === 'strings') {
    const count = Math.min(limit(length, 'min') ?? 0, MAX_ITEMS)
    if (count > 0 && conditions.matches !== undefined) return null
    return Array.from({ length: count }, () => firstOf(listed) ?? 'x')
  }
  if (Array.isArray(listed)) return (listed[0] as TestValue | undefined) ?? null
  if (conditions.matches !== undefined) return null
  switch (type) {
    case 'string': {
      const least = limit(length, 'min') ?? 1
      const most = limit(length, 'max') ?? least
      return least > MAX_TEXT ? null : 'x'.repeat(Math.min(least, most))
    }
    case 'integer':
      return limit(range, 'min') ?? Math.min(1, limit(range, 'max') ?? 1)
    case 'decimal': {
      if (gt !== undefined || lt !== undefined) return '1'
      return String(eq ?? gte ?? lte ?? '1')
    }
    case 'boolean':
      return true
    case 'object':
      return {}
    case 'objects':
      return []
  }
}

function failing({ type, conditions }: Found): TestValue | null {
  const { in: listed, length, range, eq, lte, lt } = conditions
  const most = limit(type === 'integer' ? range : length, 'max')
  switch (type) {
    case 'string':
      if (firstOf(listed) !== null) return `not-${firstOf(listed)}`
      return most === null || most >= MAX_TEXT ? null : 'x'.repeat(most + 1)
    case 'strings':
      return firstOf(listed) === null ? null : [`not-${firstOf(listed)}`]
    case 'integer': {
      const numbers = Array.isArray(listed) ? listed.filter((one) => typeof one === 'number') : []
      if (numbers.length > 0) return Math.max(...numbers) + 1
      return most === null ? null : most + 1
    }
    case 'decimal': {
      const high = eq ?? lte ?? lt
      if (typeof high !== 'string') return null
      return high.startsWith('-') ? '0' : `${high.split('.')[0]}9`
    }
    case 'boolean':
      return Array.isArray(listed) && listed.length === 1 ? listed[0] !== true : null
    case 'object':
    case 'objects':
      return null
  }
}
