import { isArray, isObject, type JsonObject, type JsonValue, vanishes } from '../json/value.js'
import type { Class1Options } from './class1.js'
import { block } from './structure.js'

const DIGESTS: readonly (readonly [block: string, member: string])[] = [
  ['effect', 'request_digest'],
  ['effect', 'response_digest'],
  ['disposition', 'reason_digest'],
]

/**
 * What a result does not vouch for (promise 9). A bare capsule's id leaves `chain` and members that
 * normalize away unbound: anyone may change them, and only a signature would show it (seed §5.1).
 */
export function unchecked(capsule: JsonObject, options: Class1Options): string[] {
  const open: string[] = []
  if (!options.signed) {
    open.push('signature')
    if (capsule.has('chain')) open.push('chain')
    if (hasEmptyMember(capsule)) open.push('empty_members')
  }
  if (options.chain === null && capsule.has('chain')) open.push('chain_parent')
  if (DIGESTS.some(([name, member]) => typeof block(capsule, name)?.get(member) === 'string'))
    open.push('digest_preimages')
  open.push('receipt', 'class2')
  return open
}

/**
 * A member outside the content address because normalization drops it (seed §2). An object of such members
 * holds one itself, so the walk finds it.
 */
function hasEmptyMember(value: JsonValue): boolean {
  if (isArray(value)) return value.some(hasEmptyMember)
  if (!isObject(value)) return false
  for (const member of value.values()) if (vanishes(member) || hasEmptyMember(member)) return true
  return false
}
