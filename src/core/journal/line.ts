import { hex } from '../bytes/hex.js'
import type { Hashing } from '../crypto/crypto.js'
import { isHeadType, isSignedType } from './vocabulary.js'

/**
 * One journal line, as bytes (DESIGN §5). The envelope comes first, in this order and without space,
 * so that a reader can check sequence and linkage without parsing the members behind it.
 */
export const FIRST_PREV = '0'.repeat(64)
export const AT_LENGTH = '2026-01-01T00:00:00.000Z'.length
/** One line may not be larger: a reader has to hold it whole. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024

const ORIGIN = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/
const TYPE = /^[A-Z][A-Z0-9_]{0,63}$/
const AT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
export const ENVELOPE: ReadonlySet<string> = new Set(['v', 'origin', 'seq', 'prev', 'at', 'type'])

/** ASCII without quotes or escapes, so that the envelope has exactly one spelling. */
export const isOrigin = (text: string): boolean => ORIGIN.test(text)
const isTypeName = (text: string): boolean => TYPE.test(text)
export const isAt = (text: string): boolean => AT.test(text)

/**
 * Version 2 is what is written: every batch ends in a signed head. Version 1 had none; its lines are read, and
 * go on as version 2 behind an ADOPTED line only.
 */
export type LineVersion = 1 | 2

/** Everything up to the value of `at`; what stands there is decided by the lines before. */
export const envelopeStart = (v: LineVersion, origin: string, seq: number, prev: string): string =>
  `{"v":${v},"origin":"${origin}","seq":${seq},"prev":"${prev}","at":"`

/** `json` is the members as object text; the line is returned without its LF. */
export function formatLine(
  line: { origin: string; seq: number; prev: string; at: string; type: string },
  json: string,
): string {
  const members = json === '{}' ? '}' : `,${json.slice(1)}`
  return `${envelopeStart(2, line.origin, line.seq, line.prev)}${line.at}","type":"${line.type}"${members}`
}

/**
 * Null when the text may stand in a line, else why not. A member named like the envelope would be a
 * second value for it, and a raw line break would end the line early.
 */
export function entryFault(type: string, json: string, given?: object): string | null {
  if (!isTypeName(type)) return `type ${JSON.stringify(type)} is not UPPER_SNAKE`
  if (isHeadType(type)) return 'the journal itself writes lines of this type'
  if (!json.startsWith('{') || !json.endsWith('}')) return 'members are not compact object text'
  if (json.includes('\n') || json.includes('\r')) return 'members hold a raw line break'
  if (json.length > MAX_LINE_BYTES / 4) return 'members are too large for one line'
  let members = given
  try {
    members ??= JSON.parse(json) as object
  } catch {
    return 'members are not JSON'
  }
  const names = Object.keys(members)
  if (names.length === 0 && json !== '{}') return 'members are not compact object text'
  if (isSignedType(type) && !(names.includes('kid') && names.includes('sig'))) {
    return 'lines of this type are signed, and this one is not'
  }
  const taken = names.find((name) => ENVELOPE.has(name))
  return taken === undefined ? null : `member ${taken} belongs to the envelope`
}

/** RFC 6962 §2.1 leaf hash: SHA-256(0x00 ‖ line without LF). */
export function leafHash(line: Uint8Array, crypto: Hashing): string {
  const leaf = new Uint8Array(line.length + 1)
  leaf.set(line, 1)
  return hex(crypto.sha256(leaf))
}

/** The types whose ids the segment indexes hold. */
export const isIndexedType = (type: string): boolean =>
  type === 'CAPSULE' || type === 'ACTION_DISPATCHED'

const ID = /"(?:action_id|capsule_id|parent_capsule_id)"\s*:\s*"([^"\\]+)"/g

/**
 * Ids named anywhere in the text of an indexed line: quotes inside JSON strings are escaped, so text
 * cannot pose as a member. A nested mention is a candidate too many; `namesId` settles it on reading.
 */
export function candidateIds(text: string, found: (id: string) => void): void {
  ID.lastIndex = 0
  for (let match = ID.exec(text); match !== null; match = ID.exec(text)) found(match[1] as string)
}

/** Whether an indexed line is about this action or capsule. */
export function namesId(line: object, id: string): boolean {
  const type = member(line, 'type')
  if (type === 'ACTION_DISPATCHED') return member(line, 'action_id') === id
  if (type !== 'CAPSULE') return false
  const capsule = member(line, 'capsule')
  return member(capsule, 'action_id') === id || member(capsule, 'capsule_id') === id
}

/** Whether the line is a capsule that supersedes that one. */
export function supersedesId(line: object, id: string): boolean {
  if (member(line, 'type') !== 'CAPSULE') return false
  const chain = member(member(line, 'capsule'), 'chain')
  return member(chain, 'relation') === 'supersedes' && member(chain, 'parent_capsule_id') === id
}

/** Of a line that nothing has read yet. */
const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
