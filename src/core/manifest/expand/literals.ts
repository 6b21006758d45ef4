import { isHex64 } from '../../bytes/hex.js'
import { parseDecimal } from '../../json/decimal.js'
import type { Plain } from '../../json/value.js'
import type { Role } from '../constraint/kinds.js'
import { isPattern } from '../constraint/regex.js'
import { schemaFault } from '../constraint/schema.js'
import { DAYS, minutesOf } from '../constraint/time-window.js'
import { isAuthority } from '../route/url-host.js'

const isInteger = (value: Plain): boolean =>
  typeof value === 'number' ||
  (typeof value === 'string' && /^(?:0|-?[1-9][0-9]{0,62})$/.test(value))

const isScalarLiteral = (value: Plain): boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

/** Null when a predicate of that role can compare with the literal; else what it should be. */
export function literalFault(role: Role, value: Plain): string | null {
  const say = (ok: boolean, wanted: string): string | null => (ok ? null : `expected ${wanted}`)
  switch (role) {
    case 'scalar':
      return say(isScalarLiteral(value), 'text, a whole number, or true or false')
    case 'set':
      return say(isFilled(value) && value.every(isScalarLiteral), 'a list with at least one value')
    case 'hosts':
      return say(
        isFilled(value) && value.every((host) => typeof host === 'string' && isAuthority(host)),
        'a list of lower-case hosts, host:port where the port is not the usual one',
      )
    case 'pattern':
      return say(typeof value === 'string' && isPattern(value), 'an RE2 pattern of at most 1 KiB')
    case 'size':
      return say(typeof value === 'number' && value >= 0, 'a whole number from 0')
    case 'integer':
      return say(isInteger(value), 'a whole number')
    case 'decimal':
      return say(
        typeof value === 'number' || (typeof value === 'string' && parseDecimal(value) !== null),
        'an exact decimal string like "500.00"',
      )
    case 'schema':
      return schemaFault(value) ?? hollowMember(value)
    case 'hash':
      return say(isHex64(value), 'a SHA-256 in 64 lower-case hex digits')
    case 'time':
      return say(typeof value === 'string' && minutesOf(value) !== null, 'a UTC time like "08:00"')
    case 'days':
      return say(
        isFilled(value) && value.every((day) => DAYS.some((known) => known === day)),
        `a list out of ${DAYS.join(', ')}`,
      )
  }
}

const isFilled = (value: Plain): value is readonly Plain[] =>
  Array.isArray(value) && value.length > 0

/**
 * Normalization (seed §2) drops members that are null, [] or {}, so a manifest with one would share
 * its digest with a manifest without.
 */
export function hollowMember(value: Plain | undefined): string | null {
  if (value === null || typeof value !== 'object') return null
  for (const [name, member] of Object.entries(value)) {
    const hollow =
      member === null || (typeof member === 'object' && Object.keys(member).length === 0)
    if (hollow && !Array.isArray(value)) {
      return `${name} is empty, which no digest shows; for a schema that admits all write true`
    }
    const found = hollowMember(member as Plain)
    if (found !== null) return found
  }
  return null
}
