import { z } from 'zod'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { actionId, digest, paging, time, verdict } from './schemas.js'

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

const MAX_PAGE = 1000

export const openItems = route({
  method: 'get',
  path: '/v1/open-items',
  summary:
    'What is open by the predicate of seed §5.4.4, in two groups, in ledger order. All that await a decision ' +
    'come with the first page; blocked ones page by page: follow next_cursor until it is null.',
  roles: ADMIN_ROLES,
  query: z.strictObject(paging(4)),
  answers: answering({
    awaiting: z.array(item),
    blocked: z.array(item),
    next_cursor: z.string().nullable(),
  }),
  problems: ['archived'],
  async handle({ query: { cursor, limit } }, { gate }) {
    const awaiting = cursor === undefined ? await gate.read.awaiting() : []
    const size = Math.min(MAX_PAGE, Number(limit ?? MAX_PAGE))
    const blocked = await gate.read.blocked(Number(cursor ?? 0), size)
    const last = blocked.length < size ? undefined : blocked.at(-1)
    return json({ awaiting, blocked, next_cursor: last === undefined ? null : String(last.seq) })
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
  answers: answering({
    results: z.array(
      z.strictObject({
        capsule_id: digest,
        result: z.enum(['closed', 'not_open', 'not_blocked', 'busy']),
        resolved_by: digest.nullable(),
      }),
    ),
  }),
  problems: ['not_open', 'people_only', 'record_unavailable', 'archived'],
  async handle({ body, principal }, { gate }) {
    if (principal.machine) throw new AdminProblem('people_only')
    const by = { person: { name: principal.name, assurance: 'L1' }, reason: body.reason } as const
    const results = await Promise.all(
      [...new Set(body.capsule_ids)].map(async (capsule_id) => {
        const done = await gate.closeBlocked(capsule_id, by)
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
