import type { Header, ReadCall } from '../../call/call.js'
import { contentOf } from '../../call/parts.js'
import { type ParseFailure, parseSourced } from '../../json/parse.js'
import { type MembersRead, readMembers } from './read-members.js'
import { type ReadRefusal, refuse } from './read-result.js'
import { type Member, newMember, type Reading } from './reading.js'
import { unreadBodyFault } from './unread-body.js'

export type BodyRead =
  | (Extract<MembersRead, { ok: true }> & {
      readonly text: string | null
      /** There is a body, and the rule lets it through whole. */
      readonly unread: boolean
    })
  | ReadRefusal

const NO_BODY: BodyRead = {
  ok: true,
  values: new Map(),
  text: null,
  notJudged: [],
  notRead: [],
  unread: false,
}
const LET_THROUGH: BodyRead = { ...NO_BODY, unread: true }

export function readBody(reading: Reading, call: ReadCall): BodyRead {
  const content = contentOf(call)
  switch (content.kind) {
    case 'arguments':
      return readJson(content.bytes, reading.members ?? newMember(reading.unread), reading)
    case 'body':
      return readMedia(content.bytes, content.headers, reading)
  }
}

function readMedia(bytes: Uint8Array, headers: readonly Header[], reading: Reading): BodyRead {
  if (reading.members === null) return unreadBody(bytes, headers, reading)
  if (bytes.length === 0 && !reading.needsBody) return NO_BODY
  const fault = mediaFault(headers)
  return fault === null
    ? readJson(bytes, reading.members, reading)
    : refuse('body_unreadable', fault)
}

/** Frameworks parse a body before the handler asks for it, so an unread body may still have an effect. */
function unreadBody(bytes: Uint8Array, headers: readonly Header[], reading: Reading): BodyRead {
  if (bytes.length === 0) return NO_BODY
  if (reading.unread === 'refused') {
    return refuse('body_not_read', 'the tool reads no body, and the call has one')
  }
  const fault = unreadBodyFault(bytes, headers, reading.notInBody)
  return fault === null ? LET_THROUGH : refuse('arg_ambiguous', fault)
}

const WHY: Readonly<Record<ParseFailure['code'], string>> = {
  not_utf8: 'the body is not UTF-8',
  too_large: 'the body is too large to be judged',
  too_deep: 'the body is nested too deeply',
  duplicate_name: 'the body names a member twice',
  lone_surrogate: 'the body holds half a character',
  trailing_text: 'the body goes on after its JSON value',
  syntax: 'the body is not JSON',
}

function readJson(bytes: Uint8Array, root: Member, { notInBody }: Reading): BodyRead {
  const parsed = parseSourced(bytes)
  if (!parsed.ok) return refuse('body_unreadable', `${WHY[parsed.code]} (offset ${parsed.at})`)
  const read = readMembers(parsed.value, root, notInBody)
  if (!read.ok) return refuse('arg_ambiguous', read.detail)
  const { values, notJudged, notRead } = read
  return { ok: true, values, text: parsed.text, notJudged, notRead, unread: false }
}

const JSON_TYPE = /^(?:application\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.-]+\+json)$/

/** UTF-8 JSON, no content-coding: anything else would be judged as one thing and read as another. */
export function mediaFault(headers: readonly Header[]): string | null {
  let only: string | undefined
  let types = 0
  for (const [name, value] of headers) {
    if (name === 'content-encoding') return 'the body has a content-coding'
    if (name !== 'content-type') continue
    only = value
    types++
  }
  if (only === undefined) return 'the request has no content-type'
  if (types > 1) return 'the request has two content-types'
  if (only === 'application/json') return null
  const [type, ...parameters] = only.split(';').map((part) => part.trim().toLowerCase())
  if (type === undefined || !JSON_TYPE.test(type)) return 'the content-type is not JSON'
  const charsets = parameters.filter((parameter) => /^charset\s*=/.test(parameter))
  if (charsets.length > 1) return 'the content-type names two charsets'
  if (charsets.some((charset) => !/^charset=(?:utf-8|"utf-8")$/.test(charset))) {
    return 'the charset is not utf-8'
  }
  return null
}
