import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'
import { type Finding, fault, type Location, warning } from '../findings.js'
import type { ActionShape } from '../schema.js'
import { lintAbsence } from './absence.js'
import { applies, isGranted } from './expression.js'

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

function lintBreadth(policy: PolicyJson, location: Location): Finding[] {
  const everything =
    policy.effect === 'permit' &&
    policy.conditions.length === 0 &&
    [policy.principal, policy.action, policy.resource].every(({ op }) => op === 'All')
  if (!everything) return []
  return [warning('permits_everything', location, 'permits every agent every action')]
}
