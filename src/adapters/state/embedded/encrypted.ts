import type { Bounds } from '../../../core/approval/bounds.js'
import { amountsContext, boundsContext } from '../../../core/journal/encryption-context.js'
import type { GrantLine } from '../../../core/journal/lines/approval.js'
import { type LineOf, lineError } from '../../../core/journal/vocabulary.js'
import type { BudgetClaim } from '../../../ports/state.js'
import type { TenantKeys } from '../../../ports/tenant.js'

/** What the state needs to read lines that hold something private. */
export type DecryptionKeys = Pick<TenantKeys, 'amounts' | 'bounds' | 'budgetScope'>

/** One budget of a line, as the windows count it. */
export type Taken = Omit<BudgetClaim, 'max' | 'advisory'>

export type StandingLine = Extract<GrantLine, { readonly standing: true }>

export const WRONG_KEY =
  'data/keys/tenant.salt is not the one it was written under, or the line was changed'

/**
 * What a dispatch took from its budgets. Older lines have each amount in clear and scopes by their plain digests;
 * a count or a dedupe takes one. Amounts that cannot be decrypted stop the start: a budget that forgets what was
 * spent lets too much through.
 */
export function takenBy(
  line: LineOf<'ACTION_DISPATCHED'>,
  { amounts, budgetScope }: DecryptionKeys,
): readonly Taken[] {
  const { budgets = [], amounts: encrypted } = line
  const sums = budgets.filter(({ kind, amount }) => kind === 'sum' && amount === undefined)
  const decrypted =
    encrypted === undefined
      ? []
      : amounts.decrypt(encrypted, amountsContext(line.action_id, budgets))?.split(' ')
  if (decrypted === undefined) throw lineError(line, `amounts do not open: ${WRONG_KEY}`)
  if (decrypted.length !== sums.length) {
    throw lineError(line, `it has ${decrypted.length} sealed amounts for ${sums.length} budgets`)
  }
  let next = 0
  return budgets.map(({ constraint, scope, kind, window_seconds: windowSeconds, amount }) => {
    const budget = { constraint, kind, windowSeconds }
    if (amount !== undefined) return { ...budget, scope: budgetScope(scope), amount }
    return { ...budget, scope, amount: kind === 'sum' ? (decrypted[next++] as string) : '1' }
  })
}

/** A standing grant's bounds; null where they cannot be decrypted. */
export function boundsOf(line: StandingLine, { bounds }: DecryptionKeys): Bounds | null {
  if (!('sealed_bounds' in line)) return line.bounds
  const text = bounds.decrypt(line.sealed_bounds, boundsContext(line))
  return text === null ? null : JSON.parse(text)
}
