import { toEbcdic } from '../readers/servlet.js'
import type { FuzzRule } from './manifest.js'

export type Draft = {
  method: string
  segments: string[]
  /** Raw parts between `&`. */
  query: string[]
  headers: [name: string, value: string][]
  body: string
}
/** Numbers instead of values, so that every failure shrinks to small ones. */
export type Mutation = {
  readonly kind: (typeof MUTATIONS)[number]
  readonly which: number
  readonly how: number
  readonly where: number
}

export const MUTATIONS = [
  'query_look_alike',
  'query_look_alike',
  'query_rename',
  'query_repeat',
  'query_separator',
  'query_extra',
  'query_encoding',
  'query_method',
  'query_flood',
  'path_spelling',
  'path_spelling',
  'path_sibling',
  'path_sibling',
  'method',
  'header',
  'member_extra',
  'member_look_alike',
  'member_look_alike',
  'member_rename',
  'member_repeat',
  'body_form',
  'body_form',
  'body_json',
  'body_unread',
  'body_type',
  'body_text',
] as const

const camel = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snake = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Spellings that some reader takes for `name`, raw as they stand in a query. */
export const lookAlikes = (name: string): readonly string[] => [
  `[${name}]`,
  `${name}[]`,
  `${name}[0]`,
  `${name}%5B%5D`,
  `%5B${name}%5D`,
  `+${name}`,
  `%20${name}`,
  name.replace('_', '.'),
  name.replace('_', '+'),
  name.replace('_', '%20'),
  name.replace('_', '['),
  camel(name),
  snake(name),
  name.toUpperCase(),
  name.charAt(0).toUpperCase() + name.slice(1),
  name.replace('s', '%C5%BF'),
  name.replace('k', '%E2%84%AA'),
  `[${name}`,
  `${name}]`,
  `${name}[`,
  `${name}[x]`,
  `${name}+`,
  `${name}.`,
  `${name}%00`,
  name.replace(/^./, (first) => `%${first.charCodeAt(0).toString(16)}`),
  name.replace('[', '.').replace(']', ''),
  name.replace('[', '][').replace(']', ''),
  name.split(/[[.]/, 1)[0] ?? name,
  name.replace(/^.*[[.$]/, '').replace(']', ''),
  name,
]
const EXTRA_NAMES = [
  'x',
  'debug',
  'utm.source',
  'a b',
  'role',
  '__proto__',
  'x[y]',
  '[x]',
  'trace',
  'expand[]',
  '$select',
  'utm_source',
  'x%5By',
  '%F0%9F%98%80',
  'is-admin',
]
const FORM_TYPES = [
  'application/x-www-form-urlencoded',
  'Application/X-WWW-Form-Urlencoded; charset=utf-8',
  'application/x-www-form-urlencoded;x',
  'multipart/form-data; boundary=b',
  'multipart/form-data; boundary="b"',
  'multipart/mixed; boundary=b',
  'application/x-www-form-urlencoded; charset=ibm037',
  null,
]
const UNREAD = [
  'DELETE /orders/export HTTP/1.1\r\nhost: x\r\n\r\n',
  'x',
  '{}',
  '{"role":"admin"}',
  '[]',
  'null',
  '"x"',
  '\0',
]
const TYPES = [
  'application/json; charset=utf-8',
  'application/problem+json',
  'APPLICATION/JSON',
  'application/json;charset=utf-16',
  'text/plain',
  'application/jsonp',
  'text/json',
]

const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T

/** Names that the rule, or another of the manifest, gives a meaning. */
function known(rule: FuzzRule, rules: readonly FuzzRule[]): readonly string[] {
  const names = (of: FuzzRule): string[] =>
    of.args.flatMap((arg) => [arg.at.split('/').at(-1) ?? arg.name, arg.name])
  const own = names(rule)
  return own.length > 0 ? own : [...rules.flatMap(names), 'amount']
}

export function mutate(
  draft: Draft,
  { kind, which, how, where }: Mutation,
  rule: FuzzRule,
  rules: readonly FuzzRule[],
): void {
  const name = pick(known(rule, rules), which)
  const alike = pick(lookAlikes(name), how)
  const insert = (part: string): void => {
    draft.query.splice(where % (draft.query.length + 1), 0, part)
  }
  switch (kind) {
    case 'query_look_alike':
      insert(`${alike}=${which}`)
      return
    case 'query_rename': {
      const at = which % Math.max(1, draft.query.length)
      const [was = '', value = ''] = draft.query[at]?.split('=') ?? []
      if (draft.query[at] !== undefined) {
        draft.query[at] = `${pick(lookAlikes(decodeURIComponent(was)), how)}=${value}`
      }
      return
    }
    case 'query_repeat': {
      const part = draft.query[which % Math.max(1, draft.query.length)]
      if (part !== undefined) insert(`${part.split('=', 1)[0]}=${how}`)
      return
    }
    case 'query_separator':
      insert(`x=1${pick([';', '%3B', ';&', '; '.trim(), '%26', '?'], how)}${name}=${which}`)
      return
    case 'query_extra':
      insert(`${pick(EXTRA_NAMES, how).replace(' ', '+')}=${which}`)
      return
    case 'query_encoding': {
      const at = which % Math.max(1, draft.query.length)
      const part = draft.query[at]
      if (part === undefined) {
        insert(pick(['', '=', '=x', 'x'], how))
        return
      }
      const forms = [
        part.replaceAll('%5B', '[').replaceAll('%5D', ']'),
        part.replaceAll('%20', '+'),
        part.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase()),
        part.replace('=', '%3D'),
        part.replace('=', '=='),
        `${part};x=1`,
        `${part};`,
        `${part}&`,
        part.split('=', 1)[0] ?? '',
        part.replace(/^[a-z]/, (first) => `%${first.charCodeAt(0).toString(16)}`),
        `${part}%00`,
        `${part}%`,
      ]
      draft.query[at] = pick(forms, how)
      return
    }
    case 'query_method':
      insert(
        `${pick(['_method', '_METHOD', '%5Fmethod', '[_method]', '+_method', '.method', '[method'], how)}=DELETE`,
      )
      return
    case 'query_flood': {
      const flood = Array<string>(1000).fill(pick(['x', ''], how))
      draft.query.splice(where % 2 === 0 ? 0 : draft.query.length, 0, ...flood)
      return
    }
    case 'path_spelling': {
      const at = which % draft.segments.length
      const segment = draft.segments[at] ?? ''
      draft.segments[at] = pick(spellings(segment), how)
      return
    }
    case 'path_sibling': {
      const rivals = literalsOf(rule, rules)
      const [at, literal] =
        rivals.length > 0 ? pick(rivals, which) : [which % draft.segments.length, 'export']
      draft.segments[at] = pick(spellings(literal), how)
      return
    }
    case 'method':
      draft.method = pick(['HEAD', 'GET', 'POST', 'DELETE', 'PUT'], how)
      return
    case 'header':
      draft.headers.push(pick(headersFor(rule), how))
      return
    case 'member_extra':
    case 'member_look_alike':
    case 'member_repeat': {
      const spelt =
        kind === 'member_extra'
          ? pick(['role', 'meta', 'tags', 'extra', 'x', '_method', '', '__proto__', 'order'], how)
          : kind === 'member_repeat'
            ? pick([name, name.replace(/^./, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)], how)
            : memberName(alike)
      const value = pick(['"9"', '9', 'null', '{"amount":"9"}', '[]', 'true'], which + where)
      draft.body = withMember(draft.body, spelt, value, where)
      return
    }
    case 'member_rename':
      draft.body = draft.body.replace(`"${name}":`, `"${memberName(alike)}":`)
      return
    case 'body_form': {
      const type = pick(FORM_TYPES, where)
      const spelt = pick([alike, '_method', 'x', '_Method'], which)
      const value = spelt.startsWith('_') ? 'DELETE' : '9'
      draft.headers = draft.headers.filter(([header]) => header !== 'content-type')
      if (type !== null) draft.headers.push(['content-type', type])
      draft.body = type?.startsWith('multipart/')
        ? `--b\r\nContent-Disposition: form-data; name="${memberName(spelt)}"\r\n\r\n${value}\r\n--b--\r\n`
        : type?.endsWith('ibm037')
          ? `${toEbcdic(name.toLowerCase())}=${toEbcdic('9')}`
          : `${pick(['', 'y=1&', 'y=1;'], how)}${spelt}=${value}`
      return
    }
    case 'body_json':
      if (draft.body !== '') return
      draft.headers.push(['content-type', pick(TYPES, where)])
      draft.body = JSON.stringify({ [memberName(alike)]: '9' })
      return
    case 'body_unread':
      if (draft.body === '') draft.body = pick(UNREAD, how)
      return
    case 'body_type':
      draft.headers = draft.headers.filter(([header]) => header !== 'content-type')
      draft.headers.push(['content-type', pick(TYPES, how)])
      return
    case 'body_text':
      if (draft.body === '') return
      draft.body = pick(
        [
          ` ${draft.body}\n`,
          `\uFEFF${draft.body}`,
          `${draft.body}x`,
          `[${draft.body}]`,
          '',
          draft.body.replace('}', ',}'),
          `${draft.body}${draft.body}`,
        ],
        how,
      )
  }
}

/** What other rules name literally where this one has a parameter. */
function literalsOf(rule: FuzzRule, rules: readonly FuzzRule[]): readonly [number, string][] {
  const parts = rule.path.split('/').slice(1)
  return rules.flatMap((other) => {
    const others = other.path.split('/').slice(1)
    if (others.length !== parts.length) return []
    return others.flatMap((part, at): [number, string][] =>
      parts[at]?.startsWith('{') === true && !part.startsWith('{') ? [[at, part]] : [],
    )
  })
}

/** Second spellings of a path segment that some router maps like the first. */
const spellings = (segment: string): readonly string[] => [
  segment,
  segment.toUpperCase(),
  segment.charAt(0).toUpperCase() + segment.slice(1),
  `${segment}.json`,
  `${segment}.`,
  `${segment}..`,
  `${segment}%20`,
  `${segment}.%20`,
  `${segment}.json%20`,
  `${segment.toUpperCase()}.JSON`,
  `${segment};x=y`,
  `${segment};`,
  `${segment}%3Bx`,
  `${segment}/`,
  `./${segment}`,
  `x/../${segment}`,
  `%2e/${segment}`,
  segment.replace(/^[a-z]/, (first) => `%${first.charCodeAt(0).toString(16)}`),
  segment.replace('s', '%C5%BF'),
  `${segment}%2F`,
  `${segment}%00`,
  `${segment}.tar.gz`,
  `.${segment}`,
]

const headersFor = (rule: FuzzRule): readonly [string, string][] => [
  ['x-http-method-override', 'DELETE'],
  ['x-original-url', '/orders/export'],
  ['content-encoding', 'gzip'],
  ['accept', '*/*'],
  ['transfer-encoding', 'chunked'],
  ...rule.args
    .filter((arg) => arg.in === 'header')
    .flatMap((arg): [string, string][] => [
      [arg.at, '9'],
      [arg.at.replaceAll('-', '_'), '9'],
    ]),
]

/** A query spelling as a member's name or a form field's: decoded, where that is possible. */
function memberName(spelt: string): string {
  try {
    return decodeURIComponent(spelt.replaceAll('+', ' ')).replaceAll('\0', '')
  } catch {
    return spelt
  }
}

/** Puts a member into the n-th object of a JSON text, in front or behind. */
function withMember(body: string, name: string, value: string, where: number): string {
  const opens = [...body.matchAll(/\{/g)].map((found) => found.index)
  if (opens.length === 0) return body
  const at = opens[(where >> 1) % opens.length] ?? 0
  if (where % 2 === 0) {
    const isEmpty = body[at + 1] === '}'
    return `${body.slice(0, at + 1)}"${name}":${value}${isEmpty ? '' : ','}${body.slice(at + 1)}`
  }
  const end = body.lastIndexOf('}')
  const isEmpty = body[end - 1] === '{'
  return `${body.slice(0, end)}${isEmpty ? '' : ','}"${name}":${value}${body.slice(end)}`
}
