import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'

/**
 * The exclusive hold on an item's parent, until `state.unclaim(actionId)`. The item is read again after the
 * claim, because it may have moved on before: `moved` where it is closed or has another parent by then.
 */
export async function claimItem(
  { approvalId, parent }: Approval,
  actionId: string,
  { state }: Pick<Parts, 'state'>,
): Promise<Approval | 'held' | 'moved'> {
  if ((await state.claim(parent, actionId)).kind === 'held') return 'held'
  const now = await state.approval(approvalId)
  const isOpen = now !== null && now.state.kind !== 'closed' && now.parent === parent
  return isOpen ? now : 'moved'
}
