import type { EntityUidJson, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs'

type Uid = { readonly type: string; readonly id: string }
/** What a policy's head asks of the principal or the resource. */
export type EntityScope = {
  /** `is Agent`; null: of any type. */
  readonly type: string | null
  /** `== Agent::"a"`, or `in Role::"r"`, which the entity itself is in too; null: any. */
  readonly entity: (Uid & { readonly op: '==' | 'in' }) | null
}
/** Beside the actions, which the set is sliced by. */
export type PolicyScope = { readonly principal: EntityScope; readonly resource: EntityScope }

export const scopeOf = ({ principal, resource }: PolicyJson): PolicyScope => ({
  principal: entityScope(principal),
  resource: entityScope(resource),
})

function entityScope(given: PolicyJson['principal']): EntityScope {
  switch (given.op) {
    case 'All':
      return { type: null, entity: null }
    case '==':
    case 'in':
      return { type: null, entity: entityOf(given.op, given) }
    case 'is':
      return {
        type: given.entity_type,
        entity: given.in === undefined ? null : entityOf('in', given.in),
      }
  }
}

function entityOf(
  op: '==' | 'in',
  given: { entity: EntityUidJson } | { slot: string },
): EntityScope['entity'] {
  // Templates were refused before anything was parsed.
  if ('slot' in given) throw new Error('a slot in a policy that is no template')
  const { entity } = given
  const { type, id } = '__entity' in entity ? entity.__entity : entity
  return { op, type, id }
}

/** Cedar asks the scope first, and it never errors: past it nothing of the policy is evaluated. */
export function isInScope(scope: EntityScope, uid: Uid, parents: readonly Uid[]): boolean {
  if (scope.type !== null && scope.type !== uid.type) return false
  const { entity } = scope
  if (entity === null || isSame(entity, uid)) return true
  return entity.op === 'in' && parents.some((parent) => isSame(entity, parent))
}

const isSame = (a: Uid, b: Uid): boolean => a.type === b.type && a.id === b.id

/** The one agent a policy is about: for others it does not apply. Null: any. */
export function agentOf({ principal: { entity } }: PolicyScope): string | null {
  return entity?.op === '==' && entity.type === 'Agent' ? entity.id : null
}
