import { fromUtf8 } from '../../bytes/text.js'
import type { Header } from '../../call/call.js'
import { parse } from '../../json/parse.js'
import { readMembers } from './read-members.js'
import { newMember } from './reading.js'
import { type Guarded, resemblance } from './resemble.js'
import { percentDecode } from './target.js'

/**
 * A body that the rule lets through unread is parsed by frameworks all the same: Rack and PHP merge a
 * form into the query's parameters, the form winning, and take `_method` for the method. So the names
 * in it may not be an argument's. Null: none is.
 */
export function unreadBodyFault(
  bytes: Uint8Array,
  headers: readonly Header[],
  guarded: readonly Guarded[],
): string | null {
  const kind = kindOf(headers)
  if (kind === 'opaque') return null
  if (headers.some(([name]) => name === 'content-encoding')) {
    return 'a coded body may hold an argument that cannot be seen'
  }
  // Servlet containers read names in the charset that the type says: in EBCDIC none looks like itself.
  if (headers.some(([name, value]) => name === 'content-type' && OTHER_CHARSET.test(value))) {
    return 'the body is in another charset than utf-8'
  }
  const parsed = kind === 'json' ? parse(bytes) : null
  if (parsed?.ok === true) {
    const read = readMembers(parsed.value, ANYTHING, guarded)
    return read.ok ? null : read.detail
  }
  for (const name of NAMES[kind](latin1(bytes))) {
    const fault = resemblance('body', name, guarded)
    if (fault !== null) return fault
  }
  return null
}

const OTHER_CHARSET = /charset\s*=(?!\s*"?utf-8"?\s*(?:;|$))/i
const ANYTHING = newMember('let_through')

/** Without a content-type Rack reads a form. */
function kindOf(headers: readonly Header[]): 'form' | 'multipart' | 'json' | 'opaque' {
  const type = headers.find(([name]) => name === 'content-type')?.[1].toLowerCase()
  if (type === undefined || type.includes('x-www-form-urlencoded')) return 'form'
  if (type.includes('multipart/')) return 'multipart'
  return /[/+]json\b/.test(type) ? 'json' : 'opaque'
}

const NAMES: Readonly<Record<'form' | 'multipart' | 'json', (text: string) => readonly string[]>> =
  {
    form: (text) => formNames(text),
    multipart: (text) => multipartNames(text),
    json: (text) => looseNames(decoded(text)),
  }

/** Of what is not strict JSON, and to some parsers is JSON all the same: whatever a colon follows. */
const looseNames = (text: string): readonly string[] =>
  [
    ...text
      .replace(/\\u([0-9A-Fa-f]{4})/g, (_, digits: string) =>
        String.fromCharCode(Number.parseInt(digits, 16)),
      )
      .matchAll(/([^"'\s{}[\],:]+)["'\s]*:/g),
  ].map(([, name = '']) => name)

const formNames = (text: string): readonly string[] =>
  text.split(/[&;]/).map((part) => unescaped((part.split('=', 1)[0] ?? '').replaceAll('+', ' ')))

/** Every `name=` anywhere in it: boundaries are read in more ways than names are. */
const multipartNames = (text: string): readonly string[] =>
  [...text.matchAll(/\bname\*?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/gi)].map(
    ([, quoted, bare = '']) =>
      quoted === undefined
        ? unescaped(bare.replace(/^.*'/, ''))
        : decoded(quoted.replace(/\\(.)/g, '$1')),
  )

/** A name that no two servers decode alike is compared as it stands. */
const unescaped = (name: string): string =>
  /%(?![0-9A-Fa-f]{2})/.test(name) ? name : (percentDecode(name) ?? name)

const decoded = (octets: string): string =>
  fromUtf8(Uint8Array.from(octets, (octet) => octet.charCodeAt(0))) ?? octets

/** One character per octet: names that are looked for are ASCII or escaped. */
function latin1(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  }
  return text
}
