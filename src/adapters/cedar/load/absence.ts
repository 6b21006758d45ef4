import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import { type Finding, fault, type Location, warning } from '../findings.js'
import { optionalIntent } from '../intent-schema.js'
import type { ActionShape } from '../schema.js'
import { childrenOf, decided, isGranted, type Node, read } from './expression.js'

/**
 * The agent chooses whether to send an optional argument. A forbid whose `has` must hold for it to apply
 * is passed by leaving the argument out. Written as `if … has … then … else …` the author has said what
 * absence means, either way; anything else is refused. In a permit the same holds the other way round,
 * where it is a warning: the permit is still narrower than one without the condition.
 *
 * What a declaration leaves out must not be to its agent's advantage, or a thin one would pass policies written for
 * standard ones (seed intent-declaration-primitive-01 §5.4): there the `else` has to refuse.
 */
export function lintAbsence(
  policy: PolicyJson,
  actions: readonly ActionShape[],
  location: Location,
): Finding[] {
  const optional = optionalPaths(actions)
  const passed = new Set<string>()
  for (const { kind, body } of policy.conditions) {
    const narrows = (kind === 'when') === (policy.effect === 'forbid')
    collectPassed(body, narrows ? 'passes' : 'holds', optional, passed)
  }
  const report = policy.effect === 'forbid' ? fault : warning
  return [...passed].map((path) => {
    const argument = optional.get(path)?.argument ?? null
    return argument === null
      ? report('absence_lets_through', location, ...intentAbsent(path, policy.effect))
      : report(
          'absence_lets_through',
          location,
          `a call without the optional argument "${argument}" passes this ${policy.effect}`,
          `say what absence means: if context.args has ${argument} then … else true (or false)`,
        )
  })
}

/** Message and help. */
function intentAbsent(path: string, effect: 'permit' | 'forbid'): [string, string] {
  const steps = ['context', ...path.split('.')]
  const test = `${steps.slice(0, -1).join('.')} has ${steps.at(-1)}`
  return [
    `a call without the optional attribute "context.${path}" passes this ${effect}`,
    effect === 'forbid'
      ? `let absence refuse: unless { ${test} && … }, or when { if ${test} then … else true }`
      : `let absence refuse: when { ${test} && … }`,
  ]
}

/** By path below `context`; `argument` is null for what belongs to declaration or mandate. */
type Optional = ReadonlyMap<string, { readonly argument: string | null }>

function optionalPaths(actions: readonly ActionShape[]): Optional {
  const paths = new Map<string, { readonly argument: string | null }>()
  for (const { args, intent } of actions) {
    for (const { name, optional } of args) {
      if (optional) paths.set(`args.${name}`, { argument: name })
    }
    if (intent === undefined) continue
    for (const path of optionalIntent(intent)) paths.set(path, { argument: null })
  }
  return paths
}

/** What a false `has` does here: `passes` opens the way, `holds` keeps it shut, `either` is not known. */
type Effect = 'passes' | 'holds' | 'either'
const flipped = (effect: Effect): Effect =>
  effect === 'passes' ? 'holds' : effect === 'holds' ? 'passes' : 'either'

function collectPassed(expr: Expr, effect: Effect, optional: Optional, out: Set<string>): void {
  const node = read(expr)
  const visit = (child: Expr, as: Effect): void => collectPassed(child, as, optional, out)
  switch (node.op) {
    case 'has': {
      if (effect !== 'holds') for (const path of optionalIn(node, optional)) out.add(path)
      if (node.path === null) visit(node.left, 'either')
      return
    }
    case 'not':
      visit(node.arg, flipped(effect))
      return
    case 'and':
    case 'or':
      visit(node.left, effect)
      visit(node.right, effect)
      return
    case 'if': {
      const tested = presenceTests(node.if)
      if (tested === null) visit(node.if, 'either')
      else if (!isShut(node.else, effect)) {
        for (const path of tested.flatMap((test) => optionalIn(test, optional))) {
          if (optional.get(path)?.argument === null) out.add(path)
        }
      }
      visit(node.then, effect)
      visit(node.else, effect)
      return
    }
    case 'equal':
    case 'other':
      for (const child of childrenOf(expr)) visit(child, 'either')
      return
    case 'path':
    case 'value':
      return
  }
}

type Has = Node & { readonly op: 'has' }

/** `context.args has a && context.args has b`: nothing else in it that could turn false. */
function presenceTests(expr: Expr): readonly Has[] | null {
  const node = read(expr)
  if (node.op === 'and') {
    const left = presenceTests(node.left)
    const right = presenceTests(node.right)
    return left === null || right === null ? null : [...left, ...right]
  }
  return node.op === 'has' && node.path !== null ? [node] : null
}

/** Whether it keeps the way shut whatever the call says; a person's approval may open it. */
function isShut(expr: Expr, effect: Effect): boolean {
  if (effect === 'either') return false
  const value = decided(expr, (node) => (isGranted(node) ? false : null))
  return value === (effect === 'passes')
}

/** What of it may be absent: `context has idp.reasoning_basis` tests two steps. */
function optionalIn({ left, path }: Has, optional: Optional): readonly string[] {
  const base = read(left)
  if (path === null || base.op !== 'path' || path[0] !== 'context') return []
  return path
    .map((_, index) => path.slice(1, index + 1).join('.'))
    .slice(base.path.length)
    .filter((tested) => optional.has(tested))
}
