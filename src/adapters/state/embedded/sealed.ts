import type { Bounds } from '../../../core/approval/bounds.js'
import type { GateError } from '../../../core/error.js'
import { amountsContext, boundsContext } from '../../../core/journal/encryption-context.js'
import type { GrantLine } from '../../../core/journal/lines/approval.js'
import { type LineOf, lineError } from '../../../core/journal/vocabulary.js'
import type { TenantKeys } from '../../../ports/tenant.js'

/** What the state needs to read lines that hold something private. */
export type Unsealing = Pick<TenantKeys, 'amounts' | 'bounds' | 'budgetScope'>

/** One budget of a line, as the windows count it. */
export type Taken = {
  readonly constraint: string
  readonly scope: string
  readonly kind: 'count' | 'sum' | 'dedupe'
  readonly windowSeconds: number
  readonly amount: string
}

const SOURCE = 'data/keys/tenant.salt is not the one it was written under, or the line was changed'

/**
 * What a dispatch took from its budgets. Lines of before amounts were sealed have each amount in clear, and
 * scopes by their plain digests; a count or a dedupe takes one. Amounts that do not open stop the start: a
 * budget that forgets what was spent lets too much through.
 */
export function takenBy(
  line: LineOf<'ACTION_DISPATCHED'>,
  { amounts, budgetScope }: Unsealing,
): readonly Taken[] {
  const { budgets = [], amounts: sealed } = line
  const sums = budgets.filter(({ kind, amount }) => kind === 'sum' && amount === undefined)
  const opened =
    sealed === undefined
      ? []
      : amounts.open(sealed, amountsContext(line.action_id, budgets))?.split(' ')
  if (opened === undefined) throw lineError(line, `amounts do not open: ${SOURCE}`)
  if (opened.length !== sums.length) {
    throw lineError(line, `it has ${opened.length} sealed amounts for ${sums.length} budgets`)
  }
  let next = 0
  return budgets.map(({ constraint, scope, kind, window_seconds: windowSeconds, amount }) => {
    const place = { constraint, kind, windowSeconds }
    if (amount !== undefined) return { ...place, scope: budgetScope(scope), amount }
    return { ...place, scope, amount: kind === 'sum' ? (opened[next++] as string) : '1' }
  })
}

/** A standing grant's bounds; null where they do not open. */
export function boundsOf(
  line: Extract<GrantLine, { readonly standing: true }>,
  { bounds }: Unsealing,
): Bounds | null {
  if (!('sealed_bounds' in line)) return line.bounds
  const text = bounds.open(line.sealed_bounds, boundsContext(line))
  return text === null ? null : JSON.parse(text)
}

export const unopened = (line: LineOf<'GRANT_ISSUED'>): GateError =>
  lineError(line, `sealed_bounds do not open: ${SOURCE}`)
