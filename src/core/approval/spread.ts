import { formatDecimal, parseDecimal } from '../json/decimal.js'
import type { Plain } from '../json/value.js'
import type { ArgValue } from '../manifest/constraint/typed-value.js'
import type { ArgType, ToolRule } from '../manifest/model.js'

/**
 * Values that calls may carry, chosen so that a bound which matters is broken by one of them. Empty
 * texts and line breaks are left out: a bound that only they break lets every real call through.
 */
const TEXTS = [
  'a',
  'x'.repeat(100_000),
  'Z9',
  '0',
  '-1',
  '1000000000000',
  ' ',
  'é',
  'two words',
  'a@example.invalid',
  'https://example.invalid/',
]
/** To the ends of what policies can compare. */
const INTEGERS = ['1', '9007199254740991', '-9007199254740991', '0']
const DECIMALS = ['1', '922337203685477', '-922337203685477', '0', '0.01']
const MANY = 1_000

export function spreadOfArgument(type: ArgType, literals: readonly string[]): ArgValue[] {
  switch (type) {
    case 'string':
      return texts(literals).map((value) => ({ type, value }))
    case 'strings':
      return [
        ...texts(literals).map((value) => ({ type, value: [value] })),
        { type, value: Array.from({ length: MANY }, (_, index) => `a${index}`) },
      ]
    case 'boolean':
      return [true, false].map((value) => ({ type, value }))
    case 'integer':
      return [...INTEGERS, ...literals.filter((text) => /^-?[0-9]{1,18}$/.test(text))].map(
        (text) => ({ type, value: BigInt(text) }),
      )
    case 'decimal':
      return [...DECIMALS, ...literals].flatMap((text) => {
        const decimal = parseDecimal(text)
        return decimal === null ? [] : [{ type, value: formatDecimal(decimal) }]
      })
    // A bound can only ask whether it is there.
    case 'object':
      return [{ type, value: new Map() }]
    case 'objects':
      return [{ type, value: [] }]
  }
}

const texts = (literals: readonly string[]): string[] =>
  [...TEXTS, ...literals, ...literals.map((text) => `${text}x`)].filter((text) => text !== '')

const MEMBERS: readonly Plain[] = [
  null,
  true,
  'a',
  'x'.repeat(MANY),
  -1_000_000_000,
  0,
  1_000_000_000,
  [],
  ['a'],
  {},
]
const SAMPLES: Readonly<Record<ArgType, Plain>> = {
  string: 'a',
  strings: ['a'],
  boolean: true,
  integer: 1,
  decimal: '1',
  object: {},
  objects: [],
}

/** Bodies with all that the tool requires, and then what schemas speak of in other ways. */
export function spreadOfBody({ args }: ToolRule, schemas: readonly Plain[]): string[] {
  const base: Record<string, Plain> = {}
  for (const { from, type, optional } of Object.values(args)) {
    if (from.in === 'body' && !optional)
      setAt(base, from.pointer.split('/').slice(1), SAMPLES[type])
  }
  const bodies: Plain[] = [base, { ...base, unread: 1 }]
  for (const schema of schemas) {
    for (const members of objectsOf(schema)) bodies.push({ ...base, ...members })
  }
  return bodies.map((body) => JSON.stringify(body))
}

function setAt(into: Record<string, Plain>, path: readonly string[], value: Plain): void {
  const [name = '', ...rest] = path
  if (rest.length === 0) into[name] = value
  else {
    const inner: Record<string, Plain> = { ...(into[name] as Record<string, Plain> | undefined) }
    setAt(inner, rest, value)
    into[name] = inner
  }
}

/** One member each, of every name that the schema speaks of. */
function objectsOf(schema: Plain): { readonly [name: string]: Plain }[] {
  const { properties } = (schema ?? {}) as { readonly properties?: Plain }
  if (properties === undefined || properties === null || typeof properties !== 'object') return []
  return Object.entries(properties).flatMap(([name, inner]) =>
    [...MEMBERS, ...objectsOf(inner ?? null)].map((member) => ({ [name]: member })),
  )
}

/** Together, one at a time, then all with all until so many were tried. */
export function* combinations<T>(spreads: readonly (readonly T[])[], most: number): Iterable<T[]> {
  const pick = (indexes: readonly number[]): T[] =>
    spreads.map((values, at) => values[(indexes[at] ?? 0) % values.length] as T)
  const longest = Math.max(1, ...spreads.map(({ length }) => length))
  for (let index = 0; index < longest; index++) {
    yield pick(spreads.map(() => index))
    for (let at = 0; at < spreads.length; at++)
      yield pick(spreads.map((_, i) => (i === at ? index : 0)))
  }
  const total = spreads.reduce((count, { length }) => count * length, 1)
  for (let nth = 0; nth < Math.min(total, most); nth++) {
    let rest = nth
    yield pick(
      spreads.map(({ length }) => {
        const index = rest % length
        rest = Math.floor(rest / length)
        return index
      }),
    )
  }
}
