import type { PolicyScopeRequest } from '../../../ports/policy.js'
import { isInScope, type PolicyScope } from '../load/scope.js'
import { type PolicySet, policiesFor } from '../policy-set.js'
import { createMemo } from './memo.js'

/** What decides by its head alone whether an action can be permitted. */
type Heads = {
  readonly permits: readonly PolicyScope[]
  /** Those without a condition, which nothing in a call can lift. */
  readonly forbids: readonly PolicyScope[]
}

/** Whether the policies' heads leave a way for a call: what conditions say then depends on its arguments. */
export function prepareMayPermit(set: PolicySet): (asked: PolicyScopeRequest) => boolean {
  const byAction = new Map(
    set.schema.actions.map((shape) => [shape.action, headsOf(policiesFor(set, shape))]),
  )
  const memo = createMemo<boolean>()
  return (asked) => {
    const { principal, roles, action, resource } = asked
    const heads = byAction.get(action)
    if (heads === undefined) return false
    const key = JSON.stringify([principal, roles, action, resource])
    const known = memo.get(key)
    if (known !== undefined) return known
    const applies = (scope: PolicyScope): boolean => isAbout(scope, asked)
    const may = heads.permits.some(applies) && !heads.forbids.some(applies)
    memo.set(key, may)
    return may
  }
}

function headsOf(policies: PolicySet['policies']): Heads {
  const enforced = policies.filter(({ mode }) => mode === 'enforce')
  const scopes = (effect: 'permit' | 'forbid') =>
    enforced.filter((policy) => policy.effect === effect)
  return {
    permits: scopes('permit').map(({ scope }) => scope),
    forbids: scopes('forbid').flatMap(({ scope, isConditional }) => (isConditional ? [] : [scope])),
  }
}

const isAbout = (
  { principal, resource }: PolicyScope,
  { principal: agent, roles, resource: tool }: PolicyScopeRequest,
): boolean =>
  isInScope(principal, { type: 'Agent', id: agent }, roles.map(roleUid)) &&
  isInScope(resource, { type: 'Tool', id: tool }, [])

const roleUid = (id: string) => ({ type: 'Role', id })
