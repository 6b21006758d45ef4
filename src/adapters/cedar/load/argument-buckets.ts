import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import type { CedarValue } from '../../../ports/policy.js'
import { childrenOf, read } from './expression.js'

/**
 * How a policy uses one argument: its value, or only the constants it is compared with. These divide all values into
 * buckets, and the policy decides alike for all values of one bucket; `has` alone needs no constant.
 */
export type ArgumentUse = 'value' | readonly Limit[]
/** A constant: whole for integers, in ten-thousandths for decimals, which is what Cedar compares. */
export type Limit = number | bigint

type Uses = ReadonlyMap<string, ArgumentUse> | null

/** By argument; null when the policy uses `context` or `context.args` as a whole. */
export const usesOf = (policy: PolicyJson): Uses => usesAmong(policy, argumentAt)

/**
 * Of declaration and mandate, by path below `context` (`idp.confidence_level`); null when the policy uses `context` as
 * a whole.
 */
export const intentUsesOf = (policy: PolicyJson): Uses => usesAmong(policy, intentAt)

/**
 * What a path from a variable leads through, of the part of the context that is asked about: the last is used, those
 * before it only have to be there. Null: it is all of the part.
 */
type Locate = (path: readonly string[]) => readonly string[] | null

const argumentAt: Locate = ([variable, part, name]) => {
  if (variable !== 'context' || part === 'approval' || isIntent(part)) return []
  return part !== 'args' || name === undefined ? null : [name]
}

const intentAt: Locate = ([variable, part, ...names]) => {
  if (variable !== 'context' || part === 'approval' || part === 'args') return []
  if (part === undefined || !isIntent(part)) return null
  return [part, ...names.map((_, index) => [part, ...names.slice(0, index + 1)].join('.'))]
}

const isIntent = (part: string | undefined): boolean => part === 'idp' || part === 'mandate'

function usesAmong(policy: PolicyJson, locate: Locate): Uses {
  const uses = new Map<string, ArgumentUse>()
  const add = (names: readonly string[], use: ArgumentUse): void => {
    names.forEach((name, index) => {
      const own = index === names.length - 1 ? use : []
      uses.set(name, mergeUses(uses.get(name) ?? [], own))
    })
  }
  const open = policy.conditions.map(({ body }) => body)
  for (let expr = open.pop(); expr !== undefined; expr = open.pop()) {
    const compared = comparison(expr)
    if (compared !== null) {
      const names = locate(compared.path)
      if (names === null) return null
      add(names, [compared.limit])
      continue
    }
    const node = read(expr)
    switch (node.op) {
      case 'path': {
        const names = locate(node.path)
        if (names === null) return null
        add(names, 'value')
        break
      }
      case 'has':
        if (node.path === null) open.push(node.left)
        // Whether there are arguments at all is the same for all calls of an action.
        else add(locate(node.path) ?? [], [])
        break
      case 'value':
        break
      default:
        open.push(...childrenOf(expr))
    }
  }
  return uses
}

export function mergeUses(a: ArgumentUse, b: ArgumentUse): ArgumentUse {
  if (a === 'value' || b === 'value') return 'value'
  return [...a, ...b.filter((limit) => !a.includes(limit))].sort((x, y) => (x < y ? -1 : 1))
}

const COMPARISON = /^(?:[<>]=?|==|(?:less|greater)Than(?:OrEqual)?)$/

/** A path such as `context.args.x` on one side, a constant number on the other. */
function comparison(
  expr: Expr,
): { readonly path: readonly string[]; readonly limit: Limit } | null {
  const [[op, body] = []] = Object.entries(expr)
  if (op === undefined || !COMPARISON.test(op)) return null
  const [left, right] = sidesOf(body)
  if (left === undefined || right === undefined) return null
  const path = pathOf(left) ?? pathOf(right)
  const limit = constant(left) ?? constant(right)
  return path === null || limit === null ? null : { path, limit }
}

/** Operators have a left and a right, methods a list of two. */
function sidesOf(body: unknown): readonly Expr[] {
  if (Array.isArray(body)) return body.length === 2 ? body : []
  if (typeof body !== 'object' || body === null) return []
  return 'left' in body && 'right' in body ? [body.left as Expr, body.right as Expr] : []
}

function pathOf(expr: Expr): readonly string[] | null {
  const node = read(expr)
  return node.op === 'path' ? node.path : null
}

function constant(expr: Expr): Limit | null {
  if ('Value' in expr) return Number.isSafeInteger(expr.Value) ? (expr.Value as number) : null
  if (!('decimal' in expr) || !Array.isArray(expr.decimal)) return null
  const [text, ...more] = expr.decimal as Expr[]
  if (text === undefined || more.length > 0 || !('Value' in text)) return null
  return typeof text.Value === 'string' ? tenThousandths(text.Value) : null
}

const DECIMAL = /^-?[0-9]+\.[0-9]{1,4}$/
/** A number holds so many characters of digits exactly. */
const EXACT = 15

/** Cedar's own form of a decimal, as the integer it is kept as; null when it is no such form. */
function tenThousandths(text: string): Limit | null {
  if (!DECIMAL.test(text)) return null
  const point = text.indexOf('.')
  const digits = `${text.slice(0, point)}${text.slice(point + 1).padEnd(4, '0')}`
  // + 0: negative zero becomes zero.
  return digits.length <= EXACT ? Number(digits) + 0 : BigInt(digits)
}

/**
 * The bucket of a value among the limits: between two of them or equal to one, so that all values of a bucket compare
 * alike. Null when the value is not of a kind that is compared so.
 */
export function bucketOf(value: CedarValue, limits: readonly Limit[]): number | null {
  const compared = comparable(value)
  if (compared === null) return limits.length === 0 ? 0 : null
  let below = 0
  for (const limit of limits) {
    if (compared < limit) return 2 * below
    if (!(compared > limit)) return 2 * below + 1
    below++
  }
  return 2 * below
}

function comparable(value: CedarValue): Limit | null {
  if (typeof value === 'number') return value
  if (typeof value !== 'object' || Array.isArray(value) || !('__extn' in value)) return null
  const { fn, arg } = value.__extn as { readonly fn: string; readonly arg: string }
  return fn === 'decimal' ? tenThousandths(arg) : null
}
