import type { BudgetLine } from './lines/call.js'

type Claims = readonly Pick<BudgetLine, 'constraint' | 'scope' | 'window_seconds'>[]

/** What a line's encrypted amounts are bound to: in another line or budget they do not decrypt. */
export const amountsContext = (actionId: string, budgets: Claims): string =>
  budgets.reduce(
    (context, { constraint, scope, window_seconds: seconds }) =>
      `${context}\n${constraint}\n${scope}\n${seconds}`,
    actionId,
  )

/** What an encrypted declaration is bound to: its own event, and the octets that came. */
export const intentContext = (eventId: string, digest: string): string => `${eventId}\n${digest}`

/** What a standing grant's encrypted bounds are bound to. */
export const boundsContext = (grant: {
  readonly grant: string
  readonly agent: string
  readonly tool: string
}): string => JSON.stringify([grant.grant, grant.agent, grant.tool])
