import { amountsContext } from '../../../src/core/journal/encryption-context.js'
import type { Line, LineType } from '../../../src/core/journal/vocabulary.js'
import type { BudgetClaim } from '../../../src/ports/state.js'
import { sha } from '../../contract/state.js'
import { known, rawLine } from '../../support/lines.js'
import { TENANT } from '../../support/tenant.js'

/** Lines as a journal would hand them to the fold; `wait` lets time pass between two. */
export type LineWriter = ((type: LineType, members: object) => Line) & {
  wait(ms: number): void
  now(): number
}

export function lineWriter(start: number): LineWriter {
  let seq = 0
  let now = start
  const write = (type: LineType, members: object): Line =>
    known(rawLine(type, members, { seq: ++seq, at: new Date(now).toISOString() }))
  return Object.assign(write, {
    wait: (ms: number) => {
      now += ms
    },
    now: () => now,
  })
}

type Claims = { key?: string; grant?: string; budgets?: readonly BudgetClaim[] }

export const dispatched = (action: string, { budgets = [], ...claims }: Claims = {}) => {
  const taken = budgets.map(({ constraint, scope, windowSeconds, kind }) => ({
    constraint,
    scope,
    window_seconds: windowSeconds,
    kind,
  }))
  const sums = budgets.filter(({ kind }) => kind === 'sum').map(({ amount }) => amount)
  return {
    action_id: action,
    decision_id: action,
    operator: 'acme',
    agent: 'bot',
    developer: 'bot',
    tool: 'create_refund',
    request_digest: sha('request'),
    ...claims,
    budgets: taken,
    ...(sums.length === 0
      ? {}
      : { amounts: TENANT.amounts.encrypt(sums.join(' '), amountsContext(action, taken)) }),
  }
}

export const capsule = (action: string, verdict: string, status?: string, parent?: string) => ({
  statement: 'agent_action',
  capsule: {
    capsule_id: sha(`capsule of ${action}`),
    action_id: action,
    operator: 'acme',
    developer: 'bot',
    timestamp: '2026-03-01T12:00:00.000Z',
    disposition: { verdict_class: verdict },
    ...(status === undefined ? {} : { effect: { status } }),
    ...(parent === undefined
      ? {}
      : {
          chain: { parent_capsule_id: sha(`capsule of ${parent}`), relation: 'supersedes' },
        }),
  },
})
