import type { BudgetLine } from './lines/call.js'

type Claims = readonly Pick<BudgetLine, 'constraint' | 'scope' | 'window_seconds'>[]

/** What a line's sealed amounts are bound to: carried to another line or budget, they do not open. */
export const amountsPlace = (actionId: string, budgets: Claims): string =>
  budgets.reduce(
    (place, { constraint, scope, window_seconds: seconds }) =>
      `${place}\n${constraint}\n${scope}\n${seconds}`,
    actionId,
  )

/** What a standing grant's sealed bounds are bound to. */
export const boundsPlace = (grant: {
  readonly grant: string
  readonly agent: string
  readonly tool: string
}): string => JSON.stringify([grant.grant, grant.agent, grant.tool])
