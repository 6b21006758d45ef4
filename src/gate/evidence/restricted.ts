import { fromUtf8 } from '../../core/bytes/text.js'
import { parse } from '../../core/json/parse.js'
import { type Plain, toPlain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'

/** A part as others than external auditors may read it, and what of it they may not. */
export type Readable = { readonly part: EvidencePart; readonly withheld: readonly string[] }

/** The name of a key that opens a declaration which auditors may not read. */
export const RESTRICTED_KEY = 'restricted_key'
/** On records that quote such a declaration. */
export const RESTRICTED = { audit_accessible: false } as const

/**
 * Evidence without what it has of restricted declarations (seed intent-declaration-primitive-01 §4.2): the key to
 * the received octets, the declaration kept with a waiting call, and what policies saw of it. Digests stay, so that
 * what is withheld can be checked by those who may read it.
 */
export function readable(part: EvidencePart): Readable {
  const { digest, kind, name } = part
  const named = { digest, kind, ...(name === undefined ? {} : { name }) }
  switch (kind) {
    case 'intent':
      return name === RESTRICTED_KEY ? { part: named, withheld: ['bytes'] } : whole(part)
    case 'frozen':
      return isRestricted(['committed', 'intent'], frozenHead(part), 'auditAccessible')
        ? { part: named, withheld: ['bytes'] }
        : whole(part)
    case 'cedar':
      return isRestricted([], part.value)
        ? { part: { ...named, value: without(part.value, CONTEXT) }, withheld: [CONTEXT.join('.')] }
        : whole(part)
    default:
      return whole(part)
  }
}

const CONTEXT = ['request', 'context', 'idp']

/** Whether a part has something of such a declaration. */
export const quotesRestricted = (part: EvidencePart): boolean => readable(part).withheld.length > 0

const whole = (part: EvidencePart): Readable => ({ part, withheld: [] })

function frozenHead({ bytes }: EvidencePart): unknown {
  const text = bytes === undefined ? null : fromUtf8(bytes)
  const parsed = text === null ? null : parse(text)
  return parsed?.ok === true ? toPlain(parsed.value) : undefined
}

function isRestricted(path: readonly string[], value: unknown, flag = 'audit_accessible'): boolean {
  const at = path.reduce(member, value)
  return member(at, flag) === false
}

function member(value: unknown, name: string): unknown {
  return isMembers(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function without(value: Plain | undefined, [name, ...rest]: readonly string[]): Plain {
  if (name === undefined || !isMembers(value)) return value ?? null
  const others = Object.entries(value).flatMap(([key, of]): [string, Plain][] => {
    if (key !== name) return [[key, of]]
    return rest.length === 0 ? [] : [[key, without(of, rest)]]
  })
  return Object.fromEntries(others)
}

const isMembers = (value: unknown): value is { readonly [name: string]: Plain } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
