import { isUtcTimestamp } from '../capsule/timestamp.js'
import { isArray, isObject, JsonNumber, type JsonObject, type JsonValue } from '../json/value.js'
import type { CpsCode, CpsFindings } from './finding.js'
import { type Kind, type Members, SECTIONS, type Section } from './model.js'

/** The members of one section (CPS, sections): all of them, each of its kind, and no others. */
export function checkSection(name: Section, section: JsonObject, findings: CpsFindings): void {
  checkMembers(section, SECTIONS[name], name, findings)
}

function checkMembers(
  of: JsonObject,
  members: Members,
  path: string,
  findings: CpsFindings,
  isOpen = false,
): void {
  for (const [name, kind] of Object.entries(members)) {
    const value = of.get(name)
    const field = `${path}.${name}`
    if (value === undefined) findings.ofSection('missing_field', field)
    else checkValue(value, kind, field, findings)
  }
  if (isOpen) return
  for (const name of of.keys())
    if (!Object.hasOwn(members, name)) findings.ofSection('unknown_field', `${path}.${name}`)
}

function checkValue(value: JsonValue, kind: Kind, field: string, findings: CpsFindings): void {
  const fault = kind.is === 'each' ? (isArray(value) ? null : 'wrong_type') : faultOf(value, kind)
  if (fault !== null) findings.ofSection(fault, field)
  if (kind.is !== 'each' || !isArray(value)) return
  // The steps of an approval chain are whatever their maker writes.
  const isOpen = Object.keys(kind.of).length === 0
  value.forEach((each, index) => {
    const at = `${field}.${index}`
    if (isObject(each)) checkMembers(each, kind.of, at, findings, isOpen)
    else findings.ofSection('wrong_type', at)
  })
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?\+00:00$/
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/

function faultOf(value: JsonValue, kind: Exclude<Kind, { is: 'each' }>): CpsCode | null {
  const typed = (isIt: boolean): CpsCode | null => (isIt ? null : 'wrong_type')
  switch (kind.is) {
    case 'any':
      return null
    case 'text':
      return typed(typeof value === 'string')
    case 'text?':
      return typed(value === null || typeof value === 'string')
    case 'flag':
      return typed(typeof value === 'boolean')
    case 'object':
      return typed(isObject(value))
    case 'list':
      return typed(isArray(value))
    case 'texts':
      return typed(isArray(value) && value.every((each) => typeof each === 'string'))
    case 'word':
      if (typeof value !== 'string') return 'wrong_type'
      return kind.of.includes(value) ? null : 'invalid_value'
    case 'time':
      if (typeof value !== 'string') return 'wrong_type'
      return isTime(value) ? null : 'invalid_value'
    case 'count':
      if (!(value instanceof JsonNumber) || !INTEGER.test(value.token)) return 'wrong_type'
      return value.token.startsWith('-') ? 'invalid_value' : null
    case 'float':
      return value instanceof JsonNumber ? floatFault(value.token) : 'wrong_type'
  }
}

/** CPS, float rules: always with a point; and within 0 to 1, as its table says. */
function floatFault(token: string): CpsCode | null {
  const value = Number(token)
  return /[.eE]/.test(token) && value >= 0 && value <= 1 ? null : 'invalid_value'
}

/** As `datetime.isoformat()` prints UTC: no fraction, or six digits that are not all zero. No second is the sixtieth. */
const isTime = (text: string): boolean =>
  TIME.test(text) &&
  !text.includes('.000000') &&
  text.slice(17, 19) !== '60' &&
  isUtcTimestamp(text.replace('+00:00', 'Z'))
