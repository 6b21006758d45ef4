import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'

/** Reading Cedar's JSON expressions: an object whose only member is the operator. */
type Binary = { readonly left: Expr; readonly right: Expr }
type Conditional = { readonly if: Expr; readonly then: Expr; readonly else: Expr }
export type Node =
  | { readonly op: 'value'; readonly value: unknown }
  | { readonly op: 'not'; readonly arg: Expr }
  | ({ readonly op: 'and' | 'or' | 'equal' } & Binary)
  | ({ readonly op: 'if' } & Conditional)
  | { readonly op: 'has'; readonly path: readonly string[] | null; readonly left: Expr }
  | { readonly op: 'path'; readonly path: readonly string[] }
  | { readonly op: 'other' }

const BINARY = { '&&': 'and', '||': 'or', '==': 'equal' } as const

export function read(expr: Expr): Node {
  const path = pathOf(expr)
  if (path !== null) return { op: 'path', path }
  if ('Value' in expr) return { op: 'value', value: expr.Value }
  if ('!' in expr && 'arg' in expr['!']) return { op: 'not', arg: expr['!'].arg }
  for (const [sign, op] of Object.entries(BINARY)) {
    if (sign in expr) return { op, ...(Object.values(expr)[0] as Binary) }
  }
  if ('if-then-else' in expr) {
    return { op: 'if', ...(expr['if-then-else'] as Conditional) }
  }
  if ('has' in expr && 'attr' in expr.has) {
    const { left, attr } = expr.has
    const base = pathOf(left)
    return { op: 'has', left, path: base === null ? null : base.concat(attr) }
  }
  return { op: 'other' }
}

/** `context.args.amount` as its names; null for anything that is not a chain from a variable. */
function pathOf(expr: Expr): readonly string[] | null {
  const names: string[] = []
  let at = expr
  while ('.' in at && 'attr' in at['.']) {
    names.unshift(at['.'].attr)
    at = at['.'].left
  }
  return 'Var' in at && typeof at.Var === 'string' ? [at.Var, ...names] : null
}

export const isGranted = (node: Node): boolean =>
  node.op === 'path' && node.path.join('.') === 'context.approval.granted'

/** The expressions directly inside: operands, arguments, members of a record. */
export function childrenOf(expr: Expr): Expr[] {
  const [body]: unknown[] = Object.values(expr)
  if (typeof body !== 'object' || body === null) return []
  return Object.values(body).filter(
    (child): child is Expr => typeof child === 'object' && child !== null,
  )
}

/** Three-valued: null is "depends". `assume` fixes what a path or a `has` is taken to be. */
export function decided(expr: Expr, assume: (node: Node) => boolean | null): boolean | null {
  const node = read(expr)
  switch (node.op) {
    case 'value':
      return typeof node.value === 'boolean' ? node.value : null
    case 'not':
      return negated(decided(node.arg, assume))
    case 'and':
    case 'or':
    case 'equal': {
      const left = decided(node.left, assume)
      const right = decided(node.right, assume)
      const absorbing = node.op === 'or'
      if (node.op !== 'equal' && (left === absorbing || right === absorbing)) return absorbing
      if (left === null || right === null) return null
      return node.op === 'equal' ? left === right : !absorbing
    }
    case 'if': {
      const chosen = decided(node.if, assume)
      if (chosen !== null) return decided(chosen ? node.then : node.else, assume)
      const yes = decided(node.then, assume)
      return yes === decided(node.else, assume) ? yes : null
    }
    case 'has':
    case 'path':
      return assume(node)
    case 'other':
      return null
  }
}
const negated = (value: boolean | null): boolean | null => (value === null ? null : !value)

/** The same for a policy's clauses together: every `when` holds and no `unless` does. */
export function applies(
  policy: PolicyJson,
  assume: (node: Node) => boolean | null,
): boolean | null {
  let all: boolean | null = true
  for (const { kind, body } of policy.conditions) {
    const held = kind === 'when' ? decided(body, assume) : negated(decided(body, assume))
    if (held === false) return false
    if (held === null) all = null
  }
  return all
}

/** Levels of Cedar's own recursion: clauses are joined into a chain. Iterative: the text is not trusted yet. */
export function depthOf(policy: PolicyJson): number {
  let deepest = 0
  const open: [unknown, number][] = policy.conditions.map(({ body }) => [
    body,
    policy.conditions.length,
  ])
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, depth] = next
    if (typeof value !== 'object' || value === null) continue
    deepest = Math.max(deepest, depth)
    const isOperator = !Array.isArray(value) && Object.keys(value).length === 1
    for (const child of Object.values(value)) open.push([child, depth + (isOperator ? 1 : 0)])
  }
  return deepest
}
