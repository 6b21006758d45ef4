import { shortestDecimal } from '../../../src/core/json/decimal.js'
import { READERS } from './index.js'
import { headerOf, queryOf, type RawRequest } from './request.js'
import { type AppRoute, ORDERS, routeOf } from './route.js'
import { at, isMap, leaves, type Path, type Tree, toPlain } from './tree.js'
import type { Bag, Reader, View } from './view.js'

/** What the gate says it judged, and what its rule let through unjudged. */
export type Judged = {
  readonly rule: JudgedRule
  /** By argument name; one that is not there was judged as absent. */
  readonly args: ReadonlyMap<string, unknown>
}
export type JudgedRule = AppRoute & {
  readonly args: readonly JudgedArg[]
  /** `names`: every further query name of plain letters, as the reading class has it. */
  readonly query: 'any' | 'names' | 'listed'
  readonly body: 'any' | 'listed'
  /** Let through by `also`: query names, and JSON pointers. */
  readonly listed: { readonly query: readonly string[]; readonly body: readonly string[] }
}
export type JudgedArg = {
  readonly name: string
  readonly type: string
  readonly in: 'query' | 'body' | 'path' | 'header'
  /** Query name, JSON pointer, path parameter or header. */
  readonly at: string
}

/**
 * Everything in which some reader's view of a dispatched request differs from what was judged. Each
 * reader reads two requests: the one that was sent, and the plainest one that says what was judged.
 */
export function disagreements(
  sent: RawRequest,
  { rule, args }: Judged,
  routes: readonly AppRoute[],
): string[] {
  const found: string[] = [...headerFaults(sent, rule, args), ...unread(sent, rule)]
  const plain = plainest(rule, args)
  for (const reader of READERS) {
    const reads = { readsBody: readsBody(rule) }
    const view = reader.read(sent, reads)
    const expected = reader.read(plain, reads)
    if (view === null || expected === null) continue
    const say = (what: string): number => found.push(`${reader.name}: ${what}`)
    if (view.method !== rule.method) say(`runs ${view.method} instead of ${rule.method}`)
    if (view.next !== undefined) say('takes the body for a further request')
    for (const fault of routeFaults(view, reader, { rule, args }, routes)) say(fault)
    for (const bag of view.bags) {
      const judged = expected.bags.find(({ name }) => name === bag.name)?.values ?? null
      for (const fault of bagFaults(bag, judged, reader, rule)) say(`${bag.name}${fault}`)
    }
  }
  return found
}

/** A tool with a listed pointer takes a JSON body, and so its handler reads one. */
export const readsBody = ({ args, listed }: JudgedRule): boolean =>
  listed.body.length > 0 || args.some((arg) => arg.in === 'body')

function routeFaults(
  view: View,
  reader: Reader,
  { rule, args }: Judged,
  routes: readonly AppRoute[],
): string[] {
  const ways = [...Object.values(ORDERS).map((order) => order(routes)), withHead(routes)]
  return ways.flatMap((ordered) => {
    const routed = routeOf(view, reader.literal, ordered)
    if (routed === null) return []
    const seen = routes.find(({ tool }) => tool === routed.tool)
    const paired = seen?.method === 'GET' && view.method === 'HEAD' && sameShape(seen, rule)
    if (routed.tool !== rule.tool && !paired) {
      return [`routes to ${routed.tool} instead of ${rule.tool}`]
    }
    if (paired) return []
    return rule.args.flatMap((arg) => {
      if (arg.in !== 'path') return []
      const seen = normal(routed.params.get(arg.at), arg.type)
      const judged = normal(asTree(args.get(arg.name)), arg.type)
      return seen === judged ? [] : [`{${arg.at}} is ${seen}, judged ${judged}`]
    })
  })
}

/** What answers GET answers HEAD too. */
const withHead = (routes: readonly AppRoute[]): readonly AppRoute[] =>
  ORDERS.literal_first([
    ...routes.filter(({ method }) => method === 'HEAD'),
    ...routes
      .filter(({ method }) => method === 'GET')
      .map((route) => ({ ...route, method: 'HEAD' })),
  ])
const shape = ({ path }: AppRoute): string => path.replace(/\{\w+\}/g, '{}')
const sameShape = (a: AppRoute, b: AppRoute): boolean => shape(a) === shape(b)

function bagFaults(bag: Bag, judged: Tree, reader: Reader, rule: JudgedRule): string[] {
  const { args, also } = dataPathsOf(reader, rule, bag.name)
  const faults = args.flatMap(({ arg, path }) => {
    const seen = normal(at(bag.values, path), arg.type)
    const expected = normal(at(judged, path), arg.type)
    return seen === expected ? [] : [`.${path.join('.')} is ${seen}, judged ${expected}`]
  })
  if (!isClosed(bag, rule)) return faults
  const known = [...args.map(({ path }) => path), ...also]
  const extra = leaves(bag.values).filter(
    (leaf) => !known.some((path) => startsWith(leaf, path) || startsWith(path, leaf)),
  )
  return [...faults, ...extra.map((path) => `.${path.join('.')} was not read`)]
}

const startsWith = (path: Path, start: Path): boolean =>
  start.length <= path.length && start.every((token, index) => token === path[index])

function isClosed({ from }: Bag, { query, body }: JudgedRule): boolean {
  const closed = { query: query === 'listed', body: body === 'listed' }
  return from === 'both' ? closed.query && closed.body : closed[from]
}

type Places = {
  readonly args: readonly { readonly arg: JudgedArg; readonly path: Path }[]
  readonly also: readonly Path[]
}
const places = new WeakMap<JudgedRule, Map<Reader, ReadonlyMap<string, Places>>>()
const NOWHERE: Places = { args: [], also: [] }

function dataPathsOf(reader: Reader, rule: JudgedRule, bag: string): Places {
  let known = places.get(rule)
  if (known === undefined) {
    known = new Map()
    places.set(rule, known)
  }
  let found = known.get(reader)
  if (found === undefined) {
    found = findPlaces(reader, rule)
    known.set(reader, found)
  }
  return found.get(bag) ?? NOWHERE
}

/** Where this reader's handlers find each argument: told by a request that holds it alone. */
function findPlaces(reader: Reader, rule: JudgedRule): ReadonlyMap<string, Places> {
  const out = new Map<string, { args: { arg: JudgedArg; path: Path }[]; also: Path[] }>()
  const probe = (arg: JudgedArg, found: (bag: string, path: Path) => void): void => {
    const request = plainest({ ...rule, args: [arg] }, new Map([[arg.name, 'probe']]))
    for (const { name, values } of reader.read(request, { readsBody: true })?.bags ?? []) {
      for (const path of leaves(values)) {
        if (path.length === 0) continue
        // A list of one: the argument is the whole list, or a second value would go unseen.
        const isInList = Array.isArray(at(values, path.slice(0, -1)))
        found(name, isInList ? path.slice(0, -1) : path)
      }
    }
  }
  const placesIn = (bag: string) => {
    const held = out.get(bag) ?? { args: [], also: [] }
    out.set(bag, held)
    return held
  }
  for (const arg of rule.args) {
    if (arg.in === 'query' || arg.in === 'body') {
      probe(arg, (bag, path) => placesIn(bag).args.push({ arg, path }))
    }
  }
  for (const kind of ['query', 'body'] as const) {
    for (const name of rule.listed[kind]) {
      const passed = { name: 'also', type: 'string', in: kind, at: name }
      // Under a name like expand[] each further one is the next place of the same list.
      probe(passed, (bag, path) =>
        placesIn(bag).also.push(
          name.endsWith('[]') && path.at(-1) === '0' ? path.slice(0, -1) : path,
        ),
      )
    }
  }
  return out
}

/** The plainest request that says what was judged, and nothing else. */
export function plainest(rule: JudgedRule, args: ReadonlyMap<string, unknown>): RawRequest {
  const query: string[] = []
  const headers: [string, string][] = []
  const body: { [name: string]: unknown } = {}
  let path = rule.path
  for (const arg of rule.args) {
    const value = args.get(arg.name)
    if (value === undefined) continue
    const text = encodeURIComponent(String(value))
    if (arg.in === 'query') query.push(`${encodeURIComponent(arg.at)}=${text}`)
    else if (arg.in === 'path') path = path.replace(`{${arg.at}}`, text)
    else if (arg.in === 'header') headers.push([arg.at, String(value)])
    else put(body, arg.at, value)
  }
  const hasBody = Object.keys(body).length > 0
  if (hasBody) headers.push(['content-type', 'application/json'])
  return {
    method: rule.method,
    target: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers,
    body: Buffer.from(hasBody ? JSON.stringify(body) : ''),
  }
}

export function put(into: { [name: string]: unknown }, pointer: string, value: unknown): void {
  const tokens = pointer.split('/').slice(1)
  let holder = into
  for (const token of tokens.slice(0, -1)) {
    holder[token] ??= {}
    holder = holder[token] as { [name: string]: unknown }
  }
  holder[tokens.at(-1) ?? ''] = value
}

/** CGI and its kin write a header's name in capitals, `-` as `_`: two names may become one. */
function headerFaults(
  sent: RawRequest,
  { args: declared }: JudgedRule,
  args: ReadonlyMap<string, unknown>,
): string[] {
  const cgi = (name: string): string => name.toUpperCase().replaceAll('-', '_')
  const override = ['x-http-method-override', 'x-http-method', 'x-method-override']
    .filter((name) => headerOf(sent, name) !== null)
    .map((name) => `any: ${name} is forwarded`)
  const read = declared.flatMap((arg) => {
    if (arg.in !== 'header') return []
    const values = sent.headers.filter(([name]) => cgi(name) === cgi(arg.at)).map(([, v]) => v)
    const seen = values.length === 0 ? null : normal(values.join(', '), arg.type)
    const judged = normal(asTree(args.get(arg.name)), arg.type)
    return seen === judged ? [] : [`CGI: header ${arg.at} is ${seen}, judged ${judged}`]
  })
  return [...override, ...read]
}

const PLAIN_NAME = /^[A-Za-z0-9_.-]+$/

/** What no reader need misread to be there without leave: a body, or a query name of other letters. */
function unread(sent: RawRequest, rule: JudgedRule): string[] {
  const faults: string[] = []
  if (sent.body.length > 0 && !readsBody(rule) && rule.body === 'listed') {
    faults.push('any: a body that nothing reads')
  }
  if (rule.query !== 'names') return faults
  const own = new Set([...rule.args.map((arg) => arg.at), ...rule.listed.query])
  for (const [name] of new URLSearchParams(queryOf(sent))) {
    if (!own.has(name) && !PLAIN_NAME.test(name)) faults.push(`any: the query name ${name}`)
  }
  return faults
}

function asTree(value: unknown): Tree | undefined {
  return typeof value === 'bigint' ? String(value) : (value as Tree | undefined)
}

/** One spelling per value: an amount counts, not its zeros; null is absent. */
function normal(tree: Tree | undefined, type: string): string | null {
  if (tree === undefined || tree === null) return null
  if (type === 'object' || type === 'objects') return sorted(tree)
  if (Array.isArray(tree)) return `[${tree.map((member) => normal(member, type)).join(', ')}]`
  if (isMap(tree)) return sorted(tree)
  const text = String(tree)
  return type === 'decimal' || type === 'integer' ? (shortestDecimal(text) ?? text) : text
}

const sorted = (tree: Tree): string =>
  JSON.stringify(toPlain(tree), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
