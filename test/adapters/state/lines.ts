import type { BudgetClaim, JournalLine } from '../../../src/ports.js'
import { sha } from '../../contract/state.js'

/** Lines as a journal would hand them to the fold; `wait` lets time pass between two. */
export type LineWriter = ((type: string, members: object) => JournalLine) & {
  wait(ms: number): void
  now(): number
}

export function lineWriter(start: number): LineWriter {
  let seq = 0
  let now = start
  const write = (type: string, members: object): JournalLine =>
    // Through JSON, as from a file: nothing but plain data comes out of a journal.
    JSON.parse(
      JSON.stringify({
        v: 1,
        origin: 'test',
        seq: ++seq,
        prev: '0'.repeat(64),
        at: new Date(now).toISOString(),
        type,
        ...members,
      }),
    )
  return Object.assign(write, {
    wait: (ms: number) => {
      now += ms
    },
    now: () => now,
  })
}

type Claims = { key?: string; grant?: string; budgets?: readonly BudgetClaim[] }

export const dispatched = (action: string, { budgets = [], ...claims }: Claims = {}) => ({
  action_id: action,
  decision_id: action,
  operator: 'acme',
  agent: 'bot',
  developer: 'bot',
  tool: 'create_refund',
  request_digest: sha('request'),
  ...claims,
  budgets: budgets.map(({ constraint, scope, windowSeconds, kind, amount }) => ({
    constraint,
    scope,
    window_seconds: windowSeconds,
    kind,
    amount,
  })),
})

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
