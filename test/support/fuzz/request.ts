import fc from 'fast-check'
import { put } from '../readers/oracle.js'
import type { RawRequest } from '../readers/request.js'
import type { FuzzArg, FuzzManifest, FuzzRule } from './manifest.js'
import { type Draft, MUTATIONS, type Mutation, mutate } from './mutate.js'

/** A request derived from a rule: what the rule reads, in order, and then what was done to it. */
export type FuzzRequest = {
  readonly rule: number
  readonly values: readonly number[]
  /** Which optional arguments are left out. */
  readonly without: number
  readonly mutations: readonly Mutation[]
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...MUTATIONS),
  which: fc.nat(40),
  how: fc.nat(60),
  where: fc.nat(12),
})

export const fuzzRequest: fc.Arbitrary<FuzzRequest> = fc.record({
  rule: fc.nat(7),
  values: fc.array(fc.nat(20), { minLength: 6, maxLength: 6 }),
  without: fc.nat(15),
  mutations: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 8, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 1 }) },
    { weight: 4, arbitrary: fc.array(mutation, { minLength: 2, maxLength: 3 }) },
  ),
})

const TEXTS = [
  '7',
  'o-1',
  'a b',
  'é',
  'x&y=z',
  '50%',
  'true',
  'A.B',
  'x;y',
  '[x]',
  'a+b',
  '9,9',
  '',
]
const SEGMENTS = ['7', 'o-1', 'ab', 'X9', 'é', 'a.b', '9,9', 'Orders7', 'exports']
const DECIMALS = ['1', '10.00', '0.5', '-3']

function exampleOf(arg: FuzzArg, seed: number): unknown {
  switch (arg.type) {
    case 'integer':
      return seed
    case 'decimal':
      return DECIMALS[seed % DECIMALS.length]
    case 'boolean':
      return seed % 2 === 0
    case 'strings':
      return TEXTS.slice(0, seed % 4)
    case 'object':
      return { role: 'x', Role: seed, n: [1, { user_id: '9', note: null }] }
    case 'objects':
      return [{ amount: '9' }, {}].slice(0, seed % 3)
    default:
      if (arg.in === 'path') return SEGMENTS[seed % SEGMENTS.length]
      // Field values carry no spaces at their ends and no letters beyond ASCII.
      return arg.in === 'header' ? `h${seed}` : TEXTS[seed % TEXTS.length]
  }
}

export function buildRequest({ rules }: FuzzManifest, seed: FuzzRequest): RawRequest {
  const rule = rules[seed.rule % rules.length] as FuzzRule
  const draft: Draft = {
    method: rule.method,
    segments: rule.path.split('/').slice(1),
    query: [],
    headers: [],
    body: '',
  }
  const body: { [name: string]: unknown } = {}
  for (const [index, arg] of rule.args.entries()) {
    if (arg.optional && (seed.without >> (index % 4)) % 2 === 1) continue
    const value = exampleOf(arg, seed.values[index % seed.values.length] ?? 0)
    if (arg.in === 'body') put(body, arg.at, value)
    else if (arg.in === 'header') draft.headers.push([arg.at, String(value)])
    else if (arg.in === 'query') {
      draft.query.push(`${encodeURIComponent(arg.at)}=${encodeURIComponent(String(value))}`)
    } else {
      const at = draft.segments.indexOf(`{${arg.at}}`)
      draft.segments[at] = encodeURIComponent(String(value))
    }
  }
  if (rule.args.some((arg) => arg.in === 'body')) {
    draft.body = JSON.stringify(body)
    draft.headers.push(['content-type', 'application/json'])
  }
  for (const mutation of seed.mutations) mutate(draft, mutation, rule, rules)
  const query = draft.query.length === 0 ? '' : `?${draft.query.join('&')}`
  return {
    method: draft.method,
    target: `/${draft.segments.join('/')}${query}`,
    headers: draft.headers,
    body: Buffer.from(draft.body),
  }
}
