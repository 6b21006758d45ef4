import { isHex64 } from '../bytes/hex.js'
import type { JsonObject } from '../json/value.js'
import { type Findings, type Profile, show } from './finding.js'
import { absent, block } from './structure.js'

/** The producer's store as check 6 sees it from one capsule's position in the ledger. */
export type ChainView = {
  /** `unknown`: the ledger begins before what was given, so absence proves nothing. */
  parent(id: string): 'earlier' | 'later' | 'missing' | 'unknown'
  /** An earlier capsule already supersedes it. */
  superseded(id: string): boolean
}

export const storeView = (store: ReadonlySet<string>): ChainView => ({
  parent: (id) => (store.has(id) ? 'earlier' : 'missing'),
  superseded: () => false,
})

/** Check 6 of seed §6 and the concurrent-supersedes rule of §5.4.4. */
export function checkChain(
  capsule: JsonObject,
  id: string | null,
  view: ChainView | null,
  findings: Findings,
  profile: Profile,
): void {
  const chain = block(capsule, 'chain')
  if (chain === null) return
  const parent = chain.get('parent_capsule_id')
  const relation = chain.get('relation')
  if (!isHex64(parent))
    findings.error(6, 'chain_parent_malformed', `chain.parent_capsule_id is ${show(parent)}`)
  if (typeof relation !== 'string' || relation === '')
    findings.error(
      6,
      absent(relation) ? 'missing_required_field' : 'chain_relation_malformed',
      `chain.relation is ${show(relation)}`,
    )
  if (!isHex64(parent)) return
  if (profile === 'strict' && (parent === id || parent === capsule.get('capsule_id')))
    findings.error(6, 'chain_self_parent', 'a capsule cannot follow itself')
  const position = view === null ? 'unknown' : view.parent(parent)
  if (position === 'unknown')
    findings.info(6, 'chain_check_store_level', 'the parent was not given')
  if (position === 'missing') findings.error(6, 'chain_parent_missing', parent)
  if (position === 'later' && profile === 'strict')
    findings.error(6, 'chain_parent_later', `${parent} stands after its child`)
  if (relation === 'supersedes' && view?.superseded(parent))
    findings.info(6, 'concurrent_supersedes', `an earlier capsule supersedes ${parent}`)
}
