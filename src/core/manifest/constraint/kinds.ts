import type { ArgType, Predicate } from '../model.js'

/** What a literal must be for the predicate that compares with it. */
export type Role =
  | 'scalar'
  | 'set'
  | 'pattern'
  | 'size'
  | 'integer'
  | 'decimal'
  | 'schema'
  | 'hosts'
  | 'hash'
  | 'time'
  | 'days'
/** How a member of a predicate is read: a literal by its role, or one of the others. */
export type MemberType = Role | 'input' | 'op' | 'scope' | 'seconds' | 'predicate' | 'predicates'
/** What a predicate's input may be; `json` is `$body`. */
export type InputType = ArgType | 'json'

type Kind<P = Predicate> = {
  /** Seed §8.1: the last part of a constraint's check_type. */
  readonly category: string
  /** Types that its input may have. */
  readonly takes: readonly InputType[]
  /** In the order in which a manifest has them; `?` marks those of which at least one is given. */
  readonly members: { readonly [N in Exclude<keyof P, 'kind'>]-?: MemberType | `${Role}?` }
}

/** Not `object` and `objects`: what is in them is let through whole, and a schema of `$body` can judge it. */
const ANY: readonly InputType[] = ['string', 'integer', 'decimal', 'boolean', 'strings', 'json']
const EQUAL: readonly InputType[] = ['string', 'integer', 'boolean']
const TEXT: readonly InputType[] = ['string', 'strings']
const AMOUNT: readonly InputType[] = ['decimal', 'integer']

const presence = {
  category: 'presence',
  takes: [...ANY, 'object', 'objects'],
  members: { input: 'input' },
} as const
const membership = { category: 'membership', takes: EQUAL } as const
const format = { category: 'format', takes: TEXT } as const
const budget = { category: 'budget', takes: AMOUNT } as const
const combined = { category: 'combined', takes: [] } as const
const among = { ...membership, takes: [...EQUAL, 'strings'] } as const
const window = { scope: 'scope', window_seconds: 'seconds' } as const

export const KINDS: {
  readonly [K in Predicate['kind']]: Kind<Extract<Predicate, { readonly kind: K }>>
} = {
  exists: presence,
  absent: presence,
  equals: { ...membership, members: { input: 'input', to: 'scalar' } },
  in_set: { ...among, members: { input: 'input', set: 'set' } },
  not_in_set: { ...among, members: { input: 'input', set: 'set' } },
  regex: { ...format, members: { input: 'input', pattern: 'pattern' } },
  length: { ...format, members: { input: 'input', min: 'size?', max: 'size?' } },
  integer_range: {
    category: 'threshold',
    takes: ['integer'],
    members: { input: 'input', min: 'integer?', max: 'integer?' },
  },
  decimal_compare: {
    category: 'threshold',
    takes: AMOUNT,
    members: { input: 'input', op: 'op', to: 'decimal' },
  },
  json_schema: { ...format, takes: ANY, members: { input: 'input', schema: 'schema' } },
  url_host_in: { ...membership, takes: TEXT, members: { input: 'input', set: 'hosts' } },
  hash_equals: {
    ...membership,
    takes: ['string', 'json'],
    members: { input: 'input', to: 'hash' },
  },
  time_window: {
    category: 'time',
    takes: [],
    members: { from: 'time', until: 'time', days: 'days?' },
  },
  count_in_window: { ...budget, members: { ...window, max: 'size' } },
  sum_in_window: { ...budget, members: { input: 'input', ...window, max: 'decimal' } },
  dedupe_key: { ...budget, members: window },
  // biome-ignore lint/suspicious/noThenProperty: the name that manifests have
  if_present: { ...presence, members: { input: 'input', then: 'predicate' } },
  all: { ...combined, members: { of: 'predicates' } },
  any: { ...combined, members: { of: 'predicates' } },
  not: { ...combined, members: { of: 'predicate' } },
}

export type Member = {
  readonly name: string
  readonly type: MemberType
  readonly optional: boolean
}

export const membersOf = (kind: Predicate['kind']): readonly Member[] =>
  Object.entries<string>(KINDS[kind].members).map(([name, type]) => ({
    name,
    type: type.replace('?', '') as MemberType,
    optional: type.endsWith('?'),
  }))
