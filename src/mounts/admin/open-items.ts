import { z } from 'zod'
import { closeBlocked } from '../../gate/resolve-blocked.js'
import { AdminProblem } from './problem.js'
import { ADMIN_ROLES, json, route } from './route.js'
import { actionId, digest, time, verdict } from './schemas.js'

const item = z.strictObject({
  capsule_id: digest,
  action_id: actionId,
  decision_id: z.string(),
  operator: z.string(),
  developer: z.string(),
  verdict_class: verdict,
  timestamp: time,
  seq: z.int(),
  request_digest: digest.optional(),
  deadline: z.strictObject({ ttl_seconds: z.int(), on_expiry: z.string() }).optional(),
})

export const openItems = route({
  method: 'get',
  path: '/v1/open-items',
  summary: 'What is open by the predicate of seed §5.4.4, in two groups, in ledger order.',
  roles: ADMIN_ROLES,
  answers: {
    200: [
      {
        type: 'application/json',
        schema: z.strictObject({ awaiting: z.array(item), blocked: z.array(item) }),
      },
    ],
  },
  handle(_, { gate }) {
    const items = gate.data.state.openItems()
    return json({
      awaiting: items.filter(({ verdict_class }) => verdict_class !== 'blocked'),
      blocked: items.filter(({ verdict_class }) => verdict_class === 'blocked'),
    })
  },
})

export const closeItems = route({
  method: 'post',
  path: '/v1/open-items/close',
  summary: 'Closes blocked items, one or many: a `resolved` capsule each, by you.',
  roles: ['approver', 'operator'],
  body: z.strictObject({
    capsule_ids: z.array(digest).min(1).max(500),
    reason: z.string().min(1).max(2000),
  }),
  answers: {
    200: [
      {
        type: 'application/json',
        schema: z.strictObject({
          results: z.array(
            z.strictObject({
              capsule_id: digest,
              result: z.enum(['closed', 'not_open', 'not_blocked', 'busy']),
              resolved_by: digest.nullable(),
            }),
          ),
        }),
      },
    ],
  },
  problems: ['not_open', 'people_only', 'record_unavailable'],
  async handle({ body, principal }, { gate }) {
    if (principal === null) throw new AdminProblem('unauthenticated')
    if (principal.machine) throw new AdminProblem('people_only')
    const by = { person: { name: principal.name, assurance: 'L1' }, reason: body.reason } as const
    const items = gate.data.state.openItems
    const results = await Promise.all(
      [...new Set(body.capsule_ids)].map(async (capsule_id) => {
        const done = await closeBlocked(capsule_id, by, items, gate.parts)
        const resolved_by = done.kind === 'closed' ? done.capsuleId : null
        return { capsule_id, result: done.kind, resolved_by }
      }),
    )
    const [only] = results
    // One item and nothing done is a refusal; of many, each tells its own.
    if (results.length === 1 && only?.result !== 'closed') {
      throw new AdminProblem('not_open', `The item was not closed: ${only?.result}.`)
    }
    return json({ results })
  },
})
