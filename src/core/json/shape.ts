import { isHex64 } from '../bytes/hex.js'
import { isUtcTimestamp } from '../capsule/timestamp.js'
import type { Plain } from './value.js'

/**
 * What a JSON value looks like: one value gives its reader, its TypeScript type and its row
 * in docs/journal.md. Members that a shape does not name are kept as they are, because a later version may
 * write more of them.
 */
export type Shape<T> = {
  /** As the documentation says it. */
  readonly says: string
  /**
   * Null where the value has this shape, else the place from here and what is wrong there, such as
   * `.scope.name is not a string`: written backwards from the fault, so that a good value costs no text.
   */
  fault(value: unknown): string | null
  /** Set by `record` only. */
  readonly members?: Members
  /** Carries the type; no shape has a value here. */
  readonly type?: T
}
export type Of<S> = S extends Shape<infer T> ? T : never

export type Optional<T> = { readonly optional: Shape<T> }
export const optional = <T>(shape: Shape<T>): Optional<T> => ({ optional: shape })

export type Members = { readonly [name: string]: Shape<unknown> | Optional<unknown> }
type OptionalNames<M extends Members> = {
  [N in keyof M]: M[N] extends Optional<unknown> ? N : never
}[keyof M]
type Merge<T> = { readonly [N in keyof T]: T[N] }
export type ObjectOf<M extends Members> = Merge<
  { readonly [N in Exclude<keyof M, OptionalNames<M>>]: Of<M[N]> } & {
    readonly [N in OptionalNames<M>]?: M[N] extends Optional<infer T> ? T : never
  }
>

/** Any value that `is` accepts. */
export function opaque<T>(says: string, is: (value: unknown) => boolean): Shape<T> {
  const fault = ` is not ${says}`
  return { says, fault: (value) => (is(value) ? null : fault) }
}

export const text = opaque<string>('a string', (value) => typeof value === 'string' && value !== '')
export const anyText = opaque<string>('a string, maybe empty', (value) => typeof value === 'string')
export const digest = opaque<string>('64 lowercase hex digits', isHex64)
export const flag = opaque<boolean>('true or false', (value) => typeof value === 'boolean')
export const count = opaque<number>(
  'a whole number from 0',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
)
export const time = opaque<string>(
  'an RFC 3339 time in UTC',
  (value) => typeof value === 'string' && isUtcTimestamp(value),
)
export const positive = opaque<number>(
  'a whole number from 1',
  (value) => Number.isSafeInteger(value) && Number(value) > 0,
)
const DECIMAL = /^-?\d+(?:\.\d+)?$/
export const decimal = opaque<string>(
  'a decimal number as a string',
  (value) => typeof value === 'string' && DECIMAL.test(value),
)

export function oneOf<const T extends string>(...values: readonly T[]): Shape<T> {
  const all: readonly unknown[] = values
  return opaque(values.map((value) => `\`${value}\``).join(', '), (value) => all.includes(value))
}
export const only = <const T extends string | boolean>(wanted: T): Shape<T> =>
  opaque(`\`${wanted}\``, (value) => value === wanted)

export function list<T>(each: Shape<T>): Shape<readonly T[]> {
  return {
    says: `a list: ${each.says}`,
    fault(value) {
      if (!Array.isArray(value)) return ' is not a list'
      for (let i = 0; i < value.length; i++) {
        const fault = each.fault(value[i])
        if (fault !== null) return `[${i}]${fault}`
      }
      return null
    },
  }
}

const NO_OBJECT = ' is not an object'
const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function record<const M extends Members>(members: M): Shape<ObjectOf<M>> {
  const rows = Object.entries(members).map(([name, member]) =>
    'optional' in member
      ? { name, shape: member.optional, required: false }
      : { name, shape: member, required: true },
  )
  return {
    says: `an object of ${rows.map(({ name }) => `\`${name}\``).join(', ')}`,
    members,
    fault(value) {
      if (!isObject(value)) return NO_OBJECT
      for (const { name, shape, required } of rows) {
        const member = value[name]
        if (member === undefined && !required) continue
        const fault = shape.fault(member)
        if (fault !== null) return `.${name}${fault}`
      }
      return null
    },
  }
}

/** An object whose names are data. */
export function mapOf<T>(each: Shape<T>): Shape<{ readonly [name: string]: T }> {
  return {
    says: `an object by name: ${each.says}`,
    fault(value) {
      if (!isObject(value)) return NO_OBJECT
      for (const [name, member] of Object.entries(value)) {
        const fault = each.fault(member)
        if (fault !== null) return `.${name}${fault}`
      }
      return null
    },
  }
}

export const nullable = <T>(of: Shape<T>): Shape<T | null> => ({
  says: `${of.says}, or null`,
  fault: (value) => (value === null ? null : of.fault(value)),
})

/** A list of exactly these, in this order. */
export function tuple<const S extends readonly Shape<unknown>[]>(
  ...shapes: S
): Shape<{ readonly [I in keyof S]: Of<S[I]> }> {
  return {
    says: `a list of ${shapes.map(({ says }) => says).join('; ')}`,
    fault(value) {
      if (!Array.isArray(value) || value.length !== shapes.length) {
        return ` is not a list of ${shapes.length}`
      }
      for (let i = 0; i < shapes.length; i++) {
        const fault = shapes[i]?.fault(value[i]) ?? null
        if (fault !== null) return `[${i}]${fault}`
      }
      return null
    },
  }
}

/** One object that is both. */
export const both = <A, B>(a: Shape<A>, b: Shape<B>): Shape<A & B> => ({
  says: `${a.says}; and ${b.says}`,
  fault: (value) => a.fault(value) ?? b.fault(value),
})

/** Two shapes of one object, told apart by one of its members. */
export function either<A, B>(
  isFirst: (value: { readonly [name: string]: unknown }) => boolean,
  first: Shape<A>,
  second: Shape<B>,
): Shape<A | B> {
  return {
    says: `${first.says}; or ${second.says}`,
    ...(first.members === undefined || second.members === undefined
      ? {}
      : { members: { ...second.members, ...first.members } }),
    fault: (value) => (isObject(value) && isFirst(value) ? first : second).fault(value),
  }
}

export const json: Shape<Plain> = opaque('a JSON value', (value) => value !== undefined)

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: string }

/** The value itself, with its type, where it has the shape. */
export function read<T>(of: Shape<T>, value: unknown): Read<T> {
  const fault = faultOf(of, value)
  return fault === null ? { ok: true, value: value as T } : { ok: false, fault }
}

/** What is wrong with a whole value; null where nothing is. */
export function faultOf(of: Shape<unknown>, value: unknown): string | null {
  const fault = of.fault(value)
  if (fault === null) return null
  return fault.startsWith('.') ? fault.slice(1) : `it${fault}`
}
