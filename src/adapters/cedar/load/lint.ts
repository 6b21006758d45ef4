import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import { type Finding, fault, type Location, warning } from '../findings.js'
import type { ActionShape } from '../schema.js'
import { applies, childrenOf, type Node, read } from './expression.js'

/** Sound Cedar that would surprise its author. `actions` are those the policy can apply to. */
export function lintPolicy(
  policy: PolicyJson,
  actions: readonly ActionShape[],
  location: Location,
): Finding[] {
  return [
    ...lintApproval(policy, location),
    ...lintAbsence(policy, actions, location),
    ...lintBreadth(policy, location),
  ]
}

const isGranted = (node: Node): boolean =>
  node.op === 'path' && node.path.join('.') === 'context.approval.granted'

function lintApproval(policy: PolicyJson, location: Location): Finding[] {
  const asksHuman = policy.annotations?.hem !== undefined
  if (policy.effect === 'permit') {
    return asksHuman ? [fault('hem_on_permit', location, '@hem on a permit asks nobody')] : []
  }
  const lifted = applies(policy, (node) => (isGranted(node) ? true : null)) === false
  if (asksHuman && !lifted) {
    const message = 'the policy asks for a human, but forbids whatever the human decides'
    return [fault('hem_not_liftable', location, message)]
  }
  if (!asksHuman && lifted) {
    const message = 'an approval would lift this forbid, but nobody is ever asked for one'
    return [warning('approval_without_hem', location, message)]
  }
  return []
}

/**
 * The agent chooses whether to send an optional argument. A forbid whose `has` must hold for it to apply
 * is passed by leaving the argument out. Written as `if … has … then … else …` the author has said what
 * absence means, either way; anything else is refused. In a permit the same holds the other way round,
 * where it is a warning: the permit is still narrower than one without the condition.
 */
function lintAbsence(
  policy: PolicyJson,
  actions: readonly ActionShape[],
  location: Location,
): Finding[] {
  const optional = new Set(
    actions.flatMap((shape) => shape.args.filter((arg) => arg.optional).map((arg) => arg.name)),
  )
  const passed = new Set<string>()
  for (const { kind, body } of policy.conditions) {
    const narrows = (kind === 'when') === (policy.effect === 'forbid')
    collectPassed(body, narrows ? 'passes' : 'holds', optional, passed)
  }
  const report = policy.effect === 'forbid' ? fault : warning
  return [...passed].map((name) =>
    report(
      'absence_lets_through',
      location,
      `a call without the optional argument "${name}" passes this ${policy.effect}`,
      `say what absence means: if context.args has ${name} then … else true (or false)`,
    ),
  )
}

/** What a false `has` does here: `passes` opens the way, `holds` keeps it shut, `either` is not known. */
type Effect = 'passes' | 'holds' | 'either'
const flipped = (effect: Effect): Effect =>
  effect === 'passes' ? 'holds' : effect === 'holds' ? 'passes' : 'either'

function collectPassed(
  expr: Expr,
  effect: Effect,
  optional: ReadonlySet<string>,
  out: Set<string>,
): void {
  const node = read(expr)
  const visit = (child: Expr, as: Effect): void => collectPassed(child, as, optional, out)
  switch (node.op) {
    case 'has': {
      const name = optionalArg(node, optional)
      if (name !== null && effect !== 'holds') out.add(name)
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
    case 'if':
      if (!isPresenceTest(node.if)) visit(node.if, 'either')
      visit(node.then, effect)
      visit(node.else, effect)
      return
    case 'equal':
    case 'other':
      for (const child of childrenOf(expr)) visit(child, 'either')
      return
    case 'path':
    case 'value':
      return
  }
}

/** `context.args has a && context.args has b`: nothing else in it that could turn false. */
function isPresenceTest(expr: Expr): boolean {
  const node = read(expr)
  if (node.op === 'and') return isPresenceTest(node.left) && isPresenceTest(node.right)
  return node.op === 'has' && node.path !== null
}

function optionalArg(node: Node & { op: 'has' }, optional: ReadonlySet<string>): string | null {
  const [variable, record, name] = node.path ?? []
  if (variable !== 'context' || record !== 'args' || name === undefined) return null
  return optional.has(name) ? name : null
}

function lintBreadth(policy: PolicyJson, location: Location): Finding[] {
  const everything =
    policy.effect === 'permit' &&
    policy.conditions.length === 0 &&
    [policy.principal, policy.action, policy.resource].every(({ op }) => op === 'All')
  if (!everything) return []
  return [warning('permits_everything', location, 'permits every agent every action')]
}
