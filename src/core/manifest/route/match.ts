import type { Call } from '../../call/call.js'
import { type Address, addressOf } from '../../call/parts.js'
import { type Arg, httpMatchOf, isMcpMatch, type Manifest, type ToolRule } from '../model.js'
import { collisions, type RouterProblem } from './collisions.js'
import { matchServer } from './match-server.js'
import { type Reading, readingOf } from './reading.js'
import { readTarget, type Segment, type Target } from './target.js'
import {
  foldSegments,
  foldsOnto,
  mayFoldOnto,
  type Part,
  parseTemplate,
  type Template,
} from './template.js'

/** A loaded manifest: the expanded form and its JSON-DIGEST, which every capsule names. */
export type LoadedManifest = { readonly manifest: Manifest; readonly digest: string }

/** A rule as calls meet it: what can be known before a call comes is worked out once. */
export type Route = {
  readonly rule: ToolRule
  readonly manifest: Manifest
  readonly manifestDigest: string
  readonly template: Template | null
  readonly args: readonly RouteArg[]
  readonly reading: Reading
  /** Rules with a literal where this one has a parameter: to some servers a segment may be either. */
  readonly rivals: readonly Template[]
}
export type RouteArg = { readonly name: string; readonly arg: Arg }
export type Router = {
  readonly byShape: ReadonlyMap<string, readonly Route[]>
  readonly byTool: ReadonlyMap<string, readonly Route[]>
  /** Rules on MCP servers, in their order. */
  readonly byServer: ReadonlyMap<string, readonly Route[]>
  /** Upstreams that distinguish every spelling of a path. */
  readonly exactPaths: ReadonlySet<string>
}

export type Match =
  | {
      readonly ok: true
      readonly route: Route
      readonly params: ReadonlyMap<string, string>
      /** Null for a call that has no path. */
      readonly target: Target | null
      /** Where the call goes: to the upstream it names itself, else to its rule's. */
      readonly upstream: string
    }
  | {
      readonly ok: false
      readonly code: 'unmatched' | 'target_malformed' | 'target_ambiguous'
      readonly detail: string
    }

export function compileRouter(
  manifests: readonly LoadedManifest[],
  /** `upstreams.X.paths: exact` in gate.yaml. */
  exactPaths: ReadonlySet<string> = new Set(),
): { ok: true; router: Router } | { ok: false; problems: readonly RouterProblem[] } {
  const compiled = manifests.flatMap(({ manifest, digest }) =>
    manifest.rules.map((rule) => compileRoute(rule, manifest, digest)),
  )
  const routes = compiled.map((route) => ({
    ...route,
    rivals: exactPaths.has(route.manifest.upstream) ? [] : rivalsOf(route, compiled),
  }))
  const problems = [...collisions(manifests, routes)]
  if (problems.length > 0) return { ok: false, problems }
  const byShape = new Map<string, Route[]>()
  const byTool = new Map<string, Route[]>()
  const byServer = new Map<string, Route[]>()
  for (const route of routes) {
    push(byTool, route.rule.tool, route)
    const { match } = route.rule
    if (isMcpMatch(match)) push(byServer, match.server, route)
    else if (match !== null && route.template !== null) {
      push(byShape, shape(match.method, route.template.length), route)
    }
  }
  return { ok: true, router: { byShape, byTool, byServer, exactPaths } }
}

const shape = (method: string, segments: number): string => `${method} ${segments}`
const push = (map: Map<string, Route[]>, key: string, route: Route): void => {
  const list = map.get(key)
  if (list === undefined) map.set(key, [route])
  else list.push(route)
}

function compileRoute(
  rule: ToolRule,
  manifest: Manifest,
  manifestDigest: string,
): Omit<Route, 'rivals'> {
  const reading = readingOf(rule, manifest)
  // An upstream may take what it did not read of a body for the head of the next request.
  const unread = reading.members === null && reading.unread === 'let_through'
  const overHttp = httpMatchOf(rule)
  return {
    rule: unread ? { ...rule, connection: 'fresh' } : rule,
    manifest,
    manifestDigest,
    template: overHttp === null ? null : parseTemplate(overHttp.path),
    args: Object.entries(rule.args).map(([name, arg]) => ({ name, arg })),
    reading,
  }
}

/** HEAD is answered by what answers GET, so its path is held against GET's rules too. */
const heldAgainst = (method: string): readonly string[] =>
  method === 'HEAD' ? ['HEAD', 'GET'] : [method]

function rivalsOf(
  { rule, template, manifest }: Omit<Route, 'rivals'>,
  all: readonly Omit<Route, 'rivals'>[],
): readonly Template[] {
  const match = httpMatchOf(rule)
  if (match === null || template === null) return []
  const methods = heldAgainst(match.method)
  return all.flatMap((other) =>
    other.manifest.upstream === manifest.upstream &&
    other.template !== null &&
    methods.includes(httpMatchOf(other.rule)?.method ?? '') &&
    mayFoldOnto(template, other.template)
      ? [other.template]
      : [],
  )
}

const unmatched = (detail: string): Match => ({ ok: false, code: 'unmatched', detail })

const SECOND_SPELLING: Match = {
  ok: false,
  code: 'target_ambiguous',
  detail: 'the path is a second spelling of one that a rule names',
}

/** The rule and where it goes, found together. HEAD is not GET, and no header changes the method. */
export function match(router: Router, call: Call): Match {
  const address = addressOf(call)
  switch (address.kind) {
    case 'tool':
      return matchTool(router, address.tool)
    case 'target':
      return matchTarget(router, address)
    case 'server':
      return matchServer(router, address)
  }
}

function matchTool(router: Router, tool: string): Match {
  const route = router.byTool.get(tool)?.find((found) => found.rule.match === null)
  if (route === undefined) return unmatched(`no rule for the tool ${tool}`)
  const { upstream } = route.manifest
  return { ok: true, route, params: new Map(), target: null, upstream }
}

function matchTarget(router: Router, address: Extract<Address, { kind: 'target' }>): Match {
  const { method, upstream, tool } = address
  const read = readTarget(address.target)
  if (!read.ok) return { ok: false, code: 'target_malformed', detail: read.detail }
  const { target } = read
  const { segments } = target
  const named = tool === null ? null : (router.byTool.get(tool) ?? [])
  const candidates = named ?? router.byShape.get(shape(method, segments.length)) ?? []
  // A guarded route names its tool inside the application: there is no upstream to compare.
  const goesTo = (route: Route): boolean =>
    named !== null || upstream === null || route.manifest.upstream === upstream
  const matched = (route: Route, params: ReadonlyMap<string, string>): Match => ({
    ok: true,
    route,
    params,
    target,
    upstream: named === null ? route.manifest.upstream : guardedUpstream(router, address),
  })
  for (const route of candidates) {
    if (!goesTo(route)) continue
    if (isMcpMatch(route.rule.match)) continue
    if (route.rule.match === null || route.template === null) return matched(route, new Map())
    if (route.rule.match.method !== method) continue
    const fit = fitTemplate(route.template, segments)
    if (fit === 'ambiguous') return SECOND_SPELLING
    if (fit === null) continue
    const isRivals = route.rivals.length > 0 && foldsOntoAny(route, segments)
    return isRivals ? SECOND_SPELLING : matched(route, fit)
  }
  const folded = named === null ? foldedRule(router, method, segments) : undefined
  return folded !== undefined && goesTo(folded)
    ? SECOND_SPELLING
    : unmatched(`no rule for ${method} on this path`)
}

/** The path of a guarded route is the application's own: where no rule has it, it names no upstream. */
const guardedUpstream = (
  router: Router,
  { method, target, upstream }: Extract<Address, { kind: 'target' }>,
): string => upstream ?? upstreamOf(router, method, target) ?? 'default'

/** A segment taken as a parameter could be the literal of another rule, which the upstream would run. */
function foldsOntoAny({ rivals }: Route, segments: readonly Segment[]): boolean {
  const folded = foldSegments(segments)
  return rivals.some((rival) => foldsOnto(rival, folded))
}

/** A rule whose path is spelled otherwise, although a server may take this path for it. */
function foldedRule(
  router: Router,
  method: string,
  segments: readonly Segment[],
): Route | undefined {
  const folded = foldSegments(segments)
  return heldAgainst(method)
    .flatMap((held) => router.byShape.get(shape(held, segments.length)) ?? [])
    .find(
      ({ template, manifest }) =>
        template !== null &&
        !router.exactPaths.has(manifest.upstream) &&
        foldsOnto(template, folded),
    )
}

/**
 * The upstream whose manifest has a rule for this request, if only by a second spelling: what no
 * pass-through route may take.
 */
export function upstreamOf(router: Router, method: string, target: string): string | null {
  const read = readTarget(target)
  if (!read.ok) return null
  const { segments } = read.target
  const route =
    router.byShape
      .get(shape(method, segments.length))
      ?.find(({ template }) => template !== null && fitTemplate(template, segments) !== null) ??
    foldedRule(router, method, segments)
  return route?.manifest.upstream ?? null
}

/**
 * Literals match raw octets. A segment that is the literal only once decoded could be either resource
 * to the upstream, so it is neither to us.
 */
function fitTemplate(
  template: Template,
  segments: readonly Segment[],
): ReadonlyMap<string, string> | 'ambiguous' | null {
  if (template.length !== segments.length) return null
  const params = new Map<string, string>()
  let respelt = false
  for (let index = 0; index < template.length; index++) {
    const part = template[index] as Part
    const segment = segments[index] as Segment
    if (part.kind === 'param') params.set(part.name, segment.text)
    else if (segment.raw !== part.raw) {
      if (segment.text !== part.text) return null
      respelt = true
    }
  }
  return respelt ? 'ambiguous' : params
}
