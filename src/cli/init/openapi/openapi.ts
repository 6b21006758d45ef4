import { isForwardable } from '../../../core/manifest/route/headers.js'
import { type ArgDraft, classOfMethod, type Lost, type ToolDraft } from '../draft.js'
import { argName, toolName, unique } from '../names.js'
import { argOf } from '../schema/arg.js'
import { draftsOf, namedArgs } from '../schema/drafts.js'
import { exampleTests } from '../schema/examples.js'
import {
  type Args,
  type Found,
  isRecord,
  type Json,
  type Reader,
  resolver,
  type Schema,
  settle,
} from '../schema/schema.js'
import { bodyMembers } from './body.js'

/** An OpenAPI 3.x document as tools; what a manifest cannot say is listed, never guessed. */
type FromOpenApi = {
  readonly tools: readonly ToolDraft[]
  /** Scheme, host and port of the first server, when it names them. */
  readonly upstream: string | null
  readonly lost: readonly string[]
}

const METHODS = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const

export function fromOpenApi(document: Json): FromOpenApi | { readonly error: string } {
  if (!isRecord(document)) return { error: 'not an OpenAPI document: expected a mapping' }
  const version = document.openapi
  if (typeof version !== 'string' || !version.startsWith('3.')) {
    return { error: 'not OpenAPI 3.x: "openapi" is missing or another version' }
  }
  const lost: string[] = []
  const tools: ToolDraft[] = []
  const { upstream, prefix } = serverOf(document, (what) => lost.push(what))
  const resolve = resolver(document)
  const names = new Set<string>()
  const ids = new Set<string>()
  for (const [path, given] of Object.entries(isRecord(document.paths) ? document.paths : {})) {
    const item = resolve(given)
    if (!isRecord(item)) {
      lost.push(`${path}: left out: its description cannot be read`)
      continue
    }
    for (const lower of METHODS.filter((name) => item[name] !== undefined)) {
      const operation = resolve(item[lower])
      const method = lower.toUpperCase()
      if (!isRecord(operation)) {
        lost.push(`${method} ${path}: left out: its description cannot be read`)
        continue
      }
      const { operationId: given } = operation
      const wanted = typeof given === 'string' && given !== '' ? given : `${lower}_${path}`
      const name = unique(names, toolName(wanted, lower))
      const note: Lost = (what) => lost.push(`${name}: ${what}`)
      const template = templateOf(prefix + path)
      if (template === null) note(`left out: ${path} is not made of whole segments and {names}`)
      else {
        const reader = { resolve, note, root: 'the body' }
        const { found, also } = argsOf(template.renamed, item, operation, reader)
        const match = { method, path: template.text }
        const irreversibility = classOfMethod(method)
        const drafts = draftsOf(name, ids, found)
        const tests = exampleTests(found, note)
        tools.push({ name, match, irreversibility, also, tests, ...drafts })
      }
    }
  }
  return { tools, upstream, lost }
}

function argsOf(
  renamed: ReadonlyMap<string, string>,
  item: Schema,
  operation: Schema,
  reader: Reader,
): { found: Args; also: ToolDraft['also'] } {
  const { resolve, note } = reader
  const found: (readonly [string, Found])[] = []
  // The operation's own parameters replace those of the path by name and source.
  const parameters = new Map<string, Schema>()
  for (const given of [item.parameters, operation.parameters].filter(Array.isArray).flat()) {
    const parameter = resolve(given)
    if (isRecord(parameter)) parameters.set(`${parameter.in} ${parameter.name}`, parameter)
    else note('a parameter whose reference leads nowhere is not read')
  }
  const query: string[] = []
  for (const parameter of parameters.values()) {
    const name = String(parameter.name)
    const from = sourceOf(String(parameter.in), name, renamed, note)
    if (from === null) continue
    const required = parameter.required === true || 'path' in from
    const schema = parameter.schema === undefined ? null : settle(parameter.schema, name, reader)
    if (parameter.schema === undefined) {
      note(`parameter ${name}: described by content, not by a schema; not read`)
    }
    const one = schema === null ? null : argOf(schema, name, from, required, reader)
    if (one !== null) found.push(['path' in from ? from.path : name, one])
    else if ('query' in from) query.push(name)
  }
  const given = resolve(operation.requestBody)
  const members = isRecord(given) ? [...bodyMembers(given, reader)] : []
  for (const member of members) if (member.kind === 'arg') found.push([member.name, member.found])
  const isOpen = members.some(({ kind }) => kind === 'all_unread')
  const unread = members.flatMap((member) => (member.kind === 'unread' ? [member.pointer] : []))
  return { found: namedArgs(found), also: { query, body: isOpen ? 'any' : unread } }
}

function sourceOf(
  location: string,
  name: string,
  renamed: ReadonlyMap<string, string>,
  note: Lost,
): ArgDraft['from'] | null {
  const inTemplate = renamed.get(name)
  if (location === 'path' && inTemplate !== undefined) return { path: inTemplate }
  if (location === 'query') return { query: name }
  if (location === 'header' && isForwardable(name.toLowerCase())) return { header: name }
  note(
    location === 'path'
      ? `path parameter ${name}: not in the path; not read`
      : `${location} parameter ${name}: not read, and not forwarded to the upstream`,
  )
  return null
}

/** `/v1/orders/{order-id}` → `/v1/orders/{order_id}`; null when a segment is only partly a name. */
function templateOf(path: string): { text: string; renamed: ReadonlyMap<string, string> } | null {
  const renamed = new Map<string, string>()
  const segments = path.split('/').map((segment) => {
    const [, name] = /^\{([^{}]+)\}$/.exec(segment) ?? []
    if (name === undefined) return segment
    const plain = unique(new Set(renamed.values()), argName(name))
    renamed.set(name, plain)
    return `{${plain}}`
  })
  const isPartly = segments.some((segment) => /[{}]/.test(segment) && !/^\{\w+\}$/.test(segment))
  return isPartly ? null : { text: segments.join('/'), renamed }
}

function serverOf(document: Schema, note: Lost): { upstream: string | null; prefix: string } {
  const servers = Array.isArray(document.servers) ? document.servers : []
  const [first] = servers
  const url = isRecord(first) && typeof first.url === 'string' ? first.url : '/'
  if (servers.length > 1) note(`servers: only the first is taken, ${url}`)
  if (url.includes('{')) {
    note(`servers: ${url} has variables; name the upstream with --upstream`)
    return { upstream: null, prefix: '' }
  }
  const absolute = URL.canParse(url) ? new URL(url) : null
  const path = absolute?.pathname ?? (url.startsWith('/') ? url : `/${url}`)
  return {
    upstream: absolute !== null && /^https?:$/.test(absolute.protocol) ? absolute.origin : null,
    prefix: path.replace(/\/+$/, ''),
  }
}
