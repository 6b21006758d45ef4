import type { Definition } from '../../call/call.js'
import type { Address } from '../../call/parts.js'
import { IRREVERSIBILITY_CLASSES, type IrreversibilityClass } from '../../capsule/registries.js'
import { isMcpMatch, type McpMatch, type ToolRule } from '../model.js'
import type { Match, Route, Router } from './match.js'

type OfServer = Extract<Address, { kind: 'server' }>
type Part = 'tool' | 'resource' | 'prompt' | 'method'

/** Which of a server's parts a method asks for; all others are calls of the method itself. */
const PART_OF: Readonly<Record<string, Exclude<Part, 'method'>>> = {
  'tools/call': 'tool',
  'resources/read': 'resource',
  'prompts/get': 'prompt',
}

type Asked = { readonly part: Part; readonly name: string }

/** The part of a server and its name, as a rule would name it. */
export function askedOf({ method, name }: Pick<OfServer, 'method' | 'name'>): Asked {
  const part = Object.hasOwn(PART_OF, method) ? PART_OF[method] : undefined
  return part === undefined || name === null ? { part: 'method', name: method } : { part, name }
}

/** The rule for what is asked of a server: the first that names it. */
export function matchServer(router: Router, address: OfServer): Match {
  const asked = askedOf(address)
  for (const route of router.byServer.get(address.server) ?? []) {
    const { match } = route.rule
    if (!isMcpMatch(match)) continue
    const pattern = patternOf(match, asked.part)
    if (pattern === null || !fits(pattern, asked.name)) continue
    if (asked.part === 'resource' && pattern !== '*' && isRespelt(asked.name)) {
      const detail = 'the URI holds dot segments, an encoded dot or slash, or a backslash'
      return { ok: false, code: 'target_malformed', detail }
    }
    return {
      ok: true,
      route: named(route, address.server, asked, pattern),
      params: new Map(asked.part === 'resource' ? [['uri', asked.name]] : []),
      target: null,
      upstream: address.server,
    }
  }
  const detail = `no rule for the ${asked.part} ${asked.name} of ${address.server}`
  return { ok: false, code: 'unmatched', detail }
}

const partOf = (match: McpMatch): readonly [Part, string] => {
  if ('tool' in match) return ['tool', match.tool]
  if ('resource' in match) return ['resource', match.resource]
  if ('prompt' in match) return ['prompt', match.prompt]
  return ['method', match.method]
}

function patternOf(match: McpMatch, wanted: Part): string | null {
  const [part, pattern] = partOf(match)
  return part === wanted ? pattern : null
}

const fits = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** Whether the earlier rule takes everything that the later one would. */
export function coversOnServer(earlier: ToolRule['match'], later: ToolRule['match']): boolean {
  if (!isMcpMatch(earlier) || !isMcpMatch(later) || earlier.server !== later.server) return false
  const [[part, pattern], [other, narrower]] = [partOf(earlier), partOf(later)]
  return part === other && fits(pattern, narrower.endsWith('*') ? narrower.slice(0, -1) : narrower)
    ? pattern.endsWith('*') || !narrower.endsWith('*')
    : false
}

/** Whether two rules of different manifests could take the same call. */
export function overlapOnServer(a: ToolRule['match'], b: ToolRule['match']): boolean {
  return coversOnServer(a, b) || coversOnServer(b, a)
}

/** A second spelling could be another resource to the server than the one that the pattern lets through. */
const isRespelt = (uri: string): boolean =>
  /\\|%2e|%2f|%5c|%00|[\u0000-\u0020\u007f]/i.test(uri) ||
  uri.split(/[/?#]/).some((segment) => segment === '.' || segment === '..')

/** What records, halts and budgets call a call that a pattern took: by its own name, not by the rule's. */
const OWN_NAME = /^[A-Za-z0-9_.-]{1,64}$/
const MOST_NAMED = 1_000
const byName = new WeakMap<Route, Map<string, Route>>()

function named(route: Route, server: string, { part, name }: Asked, pattern: string): Route {
  const plain = name.replaceAll('/', '_')
  // A prompt may be called like a tool, and is another thing to halt or to count.
  const own = part === 'tool' ? plain : `${part}.${plain}`
  if (!pattern.endsWith('*') || !OWN_NAME.test(own) || !/^[a-z]/.test(server)) return route
  let known = byName.get(route)
  if (known === undefined) {
    known = new Map()
    byName.set(route, known)
  }
  const found = known.get(own)
  if (found !== undefined) return found
  const made = { ...route, rule: { ...route.rule, tool: `${server}.${own}` } }
  // Names come from agents: they must not fill the memory.
  if (known.size < MOST_NAMED) known.set(own, made)
  return made
}

/**
 * The rule with the class that the tool's own annotations call for: they raise it, and lower it only where the
 * operator trusts the server to describe its tools.
 */
export function withHint(rule: ToolRule, definition: Definition | null): ToolRule {
  if (definition === null) return rule
  const { irreversibility_class: given } = rule.effect
  const { hinted, trusted } = definition
  // No annotation says `one_way_terminal`: it is always the operator's word.
  const lowers = trusted && given !== 'one_way_terminal'
  const strong = lowers ? hinted : strongerOf(given, hinted)
  if (strong === given) return rule
  let known = hintedRules.get(rule)
  if (known === undefined) {
    known = new Map()
    hintedRules.set(rule, known)
  }
  let made = known.get(strong)
  if (made === undefined) {
    made = { ...rule, effect: { ...rule.effect, irreversibility_class: strong } }
    known.set(strong, made)
  }
  return made
}
const hintedRules = new WeakMap<ToolRule, Map<IrreversibilityClass, ToolRule>>()

const strongerOf = (a: IrreversibilityClass, b: IrreversibilityClass): IrreversibilityClass =>
  IRREVERSIBILITY_CLASSES.indexOf(a) < IRREVERSIBILITY_CLASSES.indexOf(b) ? b : a
