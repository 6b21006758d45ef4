import { z } from 'zod'
import { statementOf } from '../../../gate/operate/prove.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { capsule, digest, name, paging, time, verdict } from './schemas.js'

const MAX_PAGE = 200

export const capsuleList = route({
  method: 'get',
  path: '/v1/capsules',
  summary:
    'Capsules, newest first; follow next_cursor until it is null. tool and agent are those of the call, refused ' +
    'or dispatched. Refusals of older versions name neither: they are found by agent only if their developer has ' +
    'that name, and never by tool.',
  roles: ADMIN_ROLES,
  query: z.strictObject({
    verdict: verdict.optional(),
    tool: name.optional(),
    agent: name.optional(),
    decision: name.optional(),
    from: time.optional(),
    to: time.optional(),
    ...paging(3),
  }),
  answers: answering({
    capsules: z.array(
      z.strictObject({
        seq: z.int(),
        at: time,
        agent: z.string().nullable(),
        tool: z.string().nullable(),
        capsule,
      }),
    ),
    next_cursor: z.string().nullable(),
  }),
  problems: ['archived'],
  async handle({ query: { cursor, limit, ...filter } }, { gate }) {
    const { entries, next } = await gate.read.capsules(filter, {
      before: cursor === undefined ? null : Number(cursor),
      limit: Math.min(MAX_PAGE, Number(limit ?? 50)),
    })
    const capsules = entries.map(({ line, ...shown }) => ({ ...shown, capsule: line.capsule }))
    return json({ capsules, next_cursor: next === null ? null : String(next) })
  },
})

export const capsuleById = route({
  method: 'get',
  path: '/v1/capsules/{capsule_id}',
  summary: 'One capsule; `Accept: application/cose` gives the signed statement, byte for byte.',
  roles: ADMIN_ROLES,
  params: z.strictObject({ capsule_id: digest }),
  answers: {
    200: [{ type: 'application/json', schema: capsule }, { type: 'application/cose' }],
  },
  problems: ['not_found', 'archived'],
  async handle({ params, http }, { gate }) {
    const line = await gate.read.capsule(params.capsule_id)
    if (line === null) throw new AdminProblem('not_found', 'No such capsule.')
    return http.accepts(['application/json', 'application/cose']) === 'application/cose'
      ? { kind: 'bytes', type: 'application/cose', bytes: statementOf(line) }
      : json(line.capsule)
  },
})
