import { isForwardable } from '../../core/manifest/route/headers.js'
import type { ArgDraft, ToolDraft } from './draft.js'
import { exampleTests } from './examples.js'
import { argName, constraintId, toolName, unique } from './names.js'
import { argOf, bodyArgs, type Found, isRecord, type Json, type Lost, resolver } from './schema.js'

/** An OpenAPI 3.x document as tools; whatever a manifest cannot say is told, never guessed. */
export type FromOpenApi = {
  readonly tools: readonly ToolDraft[]
  /** Scheme, host and port of the first server, when it names them. */
  readonly upstream: string | null
  readonly lost: readonly string[]
}

const METHODS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const
const READS: ReadonlySet<string> = new Set(['get', 'head', 'options'])

export function fromOpenApi(document: Json): FromOpenApi | { readonly error: string } {
  if (!isRecord(document)) return { error: 'not an OpenAPI document: expected a mapping' }
  const version = document.openapi
  if (typeof version !== 'string' || !version.startsWith('3.')) {
    return { error: 'not OpenAPI 3.x: "openapi" is missing or another version' }
  }
  const lost: string[] = []
  const { upstream, prefix } = serverOf(document, (what) => lost.push(what))
  const resolve = resolver(document)
  const names = new Set<string>()
  const ids = new Set<string>()
  const paths = isRecord(document.paths) ? document.paths : {}
  const tools = Object.entries(paths).flatMap(([path, given]) => {
    const item = resolve(given)
    if (!isRecord(item)) {
      lost.push(`${path}: left out: its description cannot be read`)
      return []
    }
    return METHODS.flatMap((method) => {
      if (item[method] === undefined) return []
      const operation = resolve(item[method])
      const place = `${method.toUpperCase()} ${path}`
      if (!isRecord(operation)) {
        lost.push(`${place}: left out: its description cannot be read`)
        return []
      }
      const name = unique(names, nameOf(operation, method, path))
      const tell: Lost = (what) => lost.push(`${name}: ${what}`)
      const template = plainPath(prefix + path)
      if (template === null) {
        tell(`left out: ${path} is not made of whole segments and {names}`)
        return []
      }
      return [toolOf(name, ids, method, template, item, operation, resolve, tell)]
    })
  })
  return { tools, upstream, lost }
}

function toolOf(
  name: string,
  ids: Set<string>,
  method: string,
  path: { readonly text: string; readonly renamed: ReadonlyMap<string, string> },
  item: { readonly [name: string]: Json },
  operation: { readonly [name: string]: Json },
  resolve: (value: Json | undefined) => Json | undefined,
  tell: Lost,
): ToolDraft {
  const found: Record<string, Found> = Object.create(null)
  const add = (wanted: string, one: Found | null): void => {
    if (one === null) return
    const arg = unique(new Set(Object.keys(found)), argName(wanted))
    found[arg] = one
  }
  // The operation's own parameters replace those of the path by name and place.
  const parameters = new Map<string, { readonly [name: string]: Json }>()
  for (const list of [item.parameters, operation.parameters]) {
    for (const given of Array.isArray(list) ? list : []) {
      const parameter = resolve(given)
      if (isRecord(parameter)) parameters.set(`${parameter.in} ${parameter.name}`, parameter)
      else tell('a parameter whose reference leads nowhere is not read')
    }
  }
  const query: string[] = []
  for (const parameter of parameters.values()) {
    const called = String(parameter.name)
    const from = sourceOf(String(parameter.in), called, path.renamed, tell)
    if (from === null) continue
    const schema = resolve(parameter.schema)
    const required = parameter.required === true || 'path' in from
    const one = schema === undefined ? null : argOf(schema, called, from, required, resolve, tell)
    if (schema === undefined) {
      tell(`parameter ${called}: described by content, not by a schema; not read`)
    }
    if (one === null && 'query' in from) query.push(called)
    add('path' in from ? from.path : called, one)
  }
  const body = resolve(operation.requestBody)
  const unread: string[] = []
  let all = false
  for (const member of isRecord(body) ? bodyArgs(body, resolve, tell) : []) {
    if (member.kind === 'arg') add(member.name, member.found)
    else if (member.kind === 'unread') unread.push(member.pointer)
    else all = true
  }
  const args = Object.fromEntries(
    Object.entries(found).map(([arg, { type, optional, from }]): [string, ArgDraft] => [
      arg,
      { type, optional, from },
    ]),
  )
  const constraints = Object.fromEntries(
    Object.entries(found).flatMap(([arg, { conditions, optional }]) =>
      Object.keys(conditions).length === 0
        ? []
        : [
            [
              unique(ids, constraintId(name, arg)),
              { [arg]: optional ? { if_present: conditions } : conditions },
            ],
          ],
    ),
  )
  return {
    name,
    method: method.toUpperCase(),
    path: path.text,
    reads: READS.has(method),
    args,
    also: { query, body: all ? 'any' : unread },
    constraints,
    tests: exampleTests(found, tell),
  }
}

function sourceOf(
  place: string,
  name: string,
  renamed: ReadonlyMap<string, string>,
  tell: Lost,
): ArgDraft['from'] | null {
  if (place === 'path') {
    const inTemplate = renamed.get(name)
    if (inTemplate !== undefined) return { path: inTemplate }
    tell(`path parameter ${name}: not in the path; not read`)
    return null
  }
  if (place === 'query') return { query: name }
  if (place === 'header' && isForwardable(name.toLowerCase())) return { header: name }
  tell(`${place} parameter ${name}: not read, and not forwarded to the upstream`)
  return null
}

/** `/v1/orders/{order-id}` → `/v1/orders/{order_id}`; null when a segment is only partly a name. */
function plainPath(path: string): { text: string; renamed: ReadonlyMap<string, string> } | null {
  const renamed = new Map<string, string>()
  const segments = path.split('/').map((segment) => {
    const [, name] = /^\{([^{}]+)\}$/.exec(segment) ?? []
    if (name === undefined) return segment
    const plain = unique(new Set(renamed.values()), argName(name))
    renamed.set(name, plain)
    return `{${plain}}`
  })
  return segments.some((segment) => /[{}]/.test(segment) && !/^\{\w+\}$/.test(segment))
    ? null
    : { text: segments.join('/'), renamed }
}

function serverOf(
  document: { readonly [name: string]: Json },
  tell: Lost,
): { upstream: string | null; prefix: string } {
  const servers = Array.isArray(document.servers) ? document.servers : []
  const [first] = servers
  const url = isRecord(first) && typeof first.url === 'string' ? first.url : '/'
  if (servers.length > 1) tell(`servers: only the first is taken, ${url}`)
  if (url.includes('{')) {
    tell(`servers: ${url} has variables; name the upstream with --upstream`)
    return { upstream: null, prefix: '' }
  }
  const absolute = URL.canParse(url) ? new URL(url) : null
  const path = absolute?.pathname ?? (url.startsWith('/') ? url : `/${url}`)
  return {
    upstream: absolute !== null && /^https?:$/.test(absolute.protocol) ? absolute.origin : null,
    prefix: path.replace(/\/+$/, ''),
  }
}

function nameOf(
  operation: { readonly [name: string]: Json },
  method: string,
  path: string,
): string {
  const given = operation.operationId
  return toolName(typeof given === 'string' && given !== '' ? given : `${method}_${path}`, method)
}
