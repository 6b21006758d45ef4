import fc from 'fast-check'
import {
  parseTemplate,
  type Template,
  templateCovers,
} from '../../../src/core/manifest/route/template.js'
import type { JudgedArg, JudgedRule } from '../readers/oracle.js'

/** A random manifest, as text for the gate and as the oracle wants it. */
export type FuzzRule = Omit<JudgedRule, 'args'> & {
  readonly args: readonly FuzzArg[]
  readonly irreversibility: string | null
  readonly also: { readonly query?: Also; readonly body?: Also }
  readonly pooled: boolean
}
export type FuzzArg = JudgedArg & { readonly optional: boolean }
type Also = 'any' | readonly string[]
export type FuzzManifest = {
  readonly version: 'v1' | 'v2' | null
  readonly rules: readonly FuzzRule[]
}

const METHODS = ['GET', 'GET', 'POST', 'POST', 'PUT', 'DELETE', 'HEAD', 'HEAD'] as const
const CLASSES = [null, 'two_way', 'two_way', 'one_way_recoverable', 'one_way_terminal'] as const
const PARTS = ['orders', 'export', 'export', 'items', '{id}', '{id}', '{sub}'] as const
/** No two of a rule resemble each other: what they do to one another is the operator's own doing. */
const NAMES = [
  'amount',
  'user_id',
  'limit',
  'orderId',
  'status',
  'page_size',
  'note',
  'kind',
] as const
const ON_THE_WIRE: Readonly<Record<string, string>> = {
  status: 'filter[status]',
  limit: '$top',
  kind: 'sort.kind',
}
const ALSO_QUERY = ['trace', 'utm_source', 'expand[]', '$select'] as const
const ALSO_BODY = ['/meta', '/order/extra', '/tags'] as const
const SCALARS = ['string', 'integer', 'decimal', 'boolean'] as const
const OF_BODIES = [...SCALARS, 'strings', 'object', 'objects'] as const

const argument = fc.record({
  name: fc.constantFrom(...NAMES),
  in: fc.constantFrom('query', 'query', 'body', 'body', 'header'),
  type: fc.nat(OF_BODIES.length - 1),
  optional: fc.boolean(),
  variant: fc.nat(2),
})

const opening = <T extends string>(names: readonly T[]): fc.Arbitrary<Also | undefined> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant('any' as const) },
    { weight: 1, arbitrary: fc.subarray([...names], { minLength: 1 }) },
  )

const rule = fc.record({
  method: fc.constantFrom(...METHODS),
  parts: fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 3 }),
  args: fc.uniqueArray(argument, { maxLength: 4, selector: ({ name }) => name }),
  irreversibility: fc.constantFrom(...CLASSES),
  query: opening(ALSO_QUERY),
  body: opening(ALSO_BODY),
  pooled: fc.boolean(),
})
type RuleSeed = typeof rule extends fc.Arbitrary<infer T> ? T : never

export const fuzzManifest: fc.Arbitrary<FuzzManifest> = fc
  .record({
    version: fc.constantFrom(null, null, 'v2', 'v1'),
    seeds: fc.array(rule, { minLength: 2, maxLength: 8, size: 'max' }),
  })
  .map(({ version, seeds }) => ({ version, rules: reachable(seeds, version) }))

/** A rule behind one that takes all its targets would refuse the manifest. */
function reachable(seeds: readonly RuleSeed[], version: FuzzManifest['version']): FuzzRule[] {
  const kept: { rule: FuzzRule; template: Template }[] = []
  for (const seed of seeds) {
    const made = fuzzRule(seed, kept.length, version)
    const template = parseTemplate(made.path)
    if (template === null) continue
    const covered = kept.some(
      (earlier) =>
        earlier.rule.method === made.method && templateCovers(earlier.template, template),
    )
    if (!covered) kept.push({ rule: made, template })
  }
  return kept.map((one) => one.rule)
}

function fuzzRule(seed: RuleSeed, index: number, version: FuzzManifest['version']): FuzzRule {
  const parts = seed.parts.filter(
    (part, at) => !part.startsWith('{') || seed.parts.indexOf(part) === at,
  )
  const args = [...seed.args.map(placed), ...parts.flatMap(parameter)]
  const also =
    version === 'v1'
      ? {}
      : {
          ...(seed.query === undefined ? {} : { query: seed.query }),
          ...(seed.body === undefined ? {} : { body: seed.body }),
        }
  const open = (what: Also | undefined): boolean => version === 'v1' || what === 'any'
  const list = (what: Also | undefined) => (what === undefined || what === 'any' ? [] : what)
  return {
    tool: `tool_${index}`,
    method: seed.method,
    path: `/${parts.join('/')}`,
    args,
    irreversibility: seed.irreversibility,
    also,
    // A body let through unread may not share a connection: the manifest would be refused.
    pooled: seed.pooled && !(open(also.body) && !args.some((arg) => arg.in === 'body')),
    query: open(also.query) ? 'any' : seed.irreversibility === 'two_way' ? 'names' : 'listed',
    body: open(also.body) ? 'any' : 'listed',
    listed: { query: list(also.query), body: list(also.body) },
  }
}

function placed({ name, type, optional, variant, in: place }: RuleSeed['args'][number]): FuzzArg {
  const common = { name, optional, in: place }
  const scalar = SCALARS[type % SCALARS.length] as string
  switch (place) {
    case 'query':
      return { ...common, type: scalar, at: variant === 0 ? (ON_THE_WIRE[name] ?? name) : name }
    case 'header':
      return { ...common, type: scalar, at: `x-${name.toLowerCase().replaceAll('_', '-')}` }
    case 'body': {
      const below = ['', '/order', '/data/attributes'][variant] ?? ''
      return { ...common, type: OF_BODIES[type] as string, at: `${below}/${name}` }
    }
  }
}

const parameter = (part: string): FuzzArg[] => {
  const name = /^\{(.+)\}$/.exec(part)?.[1]
  return name === undefined ? [] : [{ name, type: 'string', optional: false, in: 'path', at: name }]
}

/** YAML is a superset of JSON. */
export const manifestText = ({ version, rules }: FuzzManifest): string =>
  JSON.stringify({
    ...(version === null ? {} : { manifest: `gate.constraints/${version}` }),
    id: 'com.acme.fuzz',
    tools: Object.fromEntries(
      rules.map((rule) => [
        rule.tool,
        {
          match: `${rule.method} ${rule.path}`,
          args: Object.fromEntries(
            rule.args.map((arg) => [
              arg.name,
              { type: arg.type, ...(arg.optional ? { optional: true } : {}), [arg.in]: arg.at },
            ]),
          ),
          ...(Object.keys(rule.also).length === 0 ? {} : { also: rule.also }),
          ...(rule.irreversibility === null ? {} : { irreversibility: rule.irreversibility }),
          ...(rule.pooled ? { connection: 'pooled' } : {}),
        },
      ]),
    ),
  })
