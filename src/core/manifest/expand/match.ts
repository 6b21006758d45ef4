import type { HttpMatch, McpMatch, ToolRule } from '../model.js'
import { parseTemplate } from '../route/template.js'
import type { Fields, Node, Reader } from './tree.js'

const METHOD = /^(?!CONNECT$|TRACE$)[A-Z]{1,16}$/
export const SERVER_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/
/** What of a server: exact, or a beginning and `*`. */
const PARTS = ['tool', 'resource', 'prompt', 'method'] as const
const NAME = /^(?:[^\u0000-\u0020\u007f*]{1,2048}\*?|\*)$/u

type Setting = {
  /** `server:` at the top of the manifest: tools without `match` are that server's. */
  readonly server: string | null
  readonly key: string | null
  readonly node: Node
}

/** `POST /v1/refunds`, {method, path}, or {server, tool}; absent for a tool that is called by its name. */
export function readMatch(
  reader: Reader,
  node: Node | undefined,
  { server, key, node: rule }: Setting,
): ToolRule['match'] | 'wrong' {
  if (node === undefined) {
    if (server === null || key === null) return null
    return named(reader, { value: key, path: rule.path }, { server, part: 'tool' })
  }
  if (typeof node.value === 'string') return readHttp(reader, node)
  const fields = reader.fields(node, ['method', 'path', 'server', 'tool', 'resource', 'prompt'])
  if (fields === undefined) return 'wrong'
  return fields.has('server') || server !== null
    ? readMcp(reader, node, fields, server)
    : readHttp(reader, node, fields)
}

function readMcp(
  reader: Reader,
  node: Node,
  fields: Fields,
  server: string | null,
): McpMatch | 'wrong' {
  const given = reader.text(fields.get('server'), SERVER_NAME, "a server's name like files")
  const of = given ?? server
  if (given !== undefined && server !== null && given !== server) {
    reader.problem(node, `the manifest is about the server ${server}`, 'write one manifest each')
    return 'wrong'
  }
  const parts = PARTS.filter((part) => fields.has(part))
  const [part] = parts
  if (of === null || part === undefined || parts.length > 1 || fields.has('path')) {
    reader.problem(
      node,
      'match needs a server and one thing of it',
      'write match: {server: files, tool: write_file}, or resource, prompt, method',
    )
    return 'wrong'
  }
  return named(reader, fields.get(part), { server: of, part })
}

function named(
  reader: Reader,
  node: Node | undefined,
  { server, part }: { readonly server: string; readonly part: (typeof PARTS)[number] },
): McpMatch | 'wrong' {
  const name = reader.text(node, NAME, 'a name, or the beginning of names and *')
  if (name === undefined) return 'wrong'
  switch (part) {
    case 'tool':
      return { server, tool: name }
    case 'resource':
      return { server, resource: name }
    case 'prompt':
      return { server, prompt: name }
    case 'method':
      return { server, method: name }
  }
}

function readHttp(reader: Reader, node: Node, fields?: Fields): HttpMatch | 'wrong' {
  const pair = typeof node.value === 'string' ? /^(\S+) (\S+)$/.exec(node.value) : null
  const part = (index: number, name: string): Node | undefined =>
    pair === null ? fields?.get(name) : { value: pair[index] ?? '', path: node.path }
  const method = reader.text(part(1, 'method'), METHOD, 'an upper-case method, as in POST')
  const path = reader.text(part(2, 'path'), /^\//, 'a path that starts with /')
  if (method === undefined || path === undefined) {
    reader.problem(node, 'match needs a method and a path', 'write match: POST /v1/refunds')
    return 'wrong'
  }
  if (parseTemplate(path) === null) {
    reader.problem(
      node,
      `no call can have the path ${path}`,
      'no query, empty, dot or needlessly escaped segment; {name} once, as a whole segment',
    )
    return 'wrong'
  }
  return { method, path }
}
