import { z } from 'zod'
import { statementOf } from '../../gate/prove.js'
import { browse } from './browse.js'
import { AdminProblem } from './problem.js'
import { ADMIN_ROLES, json, route } from './route.js'
import { capsule, digest, name, time, verdict } from './schemas.js'

const READERS = ADMIN_ROLES
const MAX_PAGE = 200

export const capsuleList = route({
  method: 'get',
  path: '/v1/capsules',
  summary:
    'Capsules, newest first. Follow next_cursor until it is null: a page may be empty before the end. ' +
    'tool and agent are those of the dispatch; a refusal is found by agent only if its developer has that name.',
  roles: READERS,
  query: z.strictObject({
    verdict: verdict.optional(),
    tool: name.optional(),
    agent: name.optional(),
    from: time.optional(),
    to: time.optional(),
    cursor: z
      .string()
      .regex(/^[1-9]\d{0,15}$/)
      .optional(),
    limit: z
      .string()
      .regex(/^[1-9]\d{0,2}$/)
      .optional(),
  }),
  answers: {
    200: [
      {
        type: 'application/json',
        schema: z.strictObject({
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
      },
    ],
  },
  problems: ['archived'],
  async handle({ query: { cursor, limit, ...filter } }, { gate }) {
    const { entries, before } = await browse(gate.data.journal, filter, {
      before: cursor === undefined ? null : Number(cursor),
      limit: Math.min(MAX_PAGE, Number(limit ?? 50)),
    })
    return json({ capsules: entries, next_cursor: before === null ? null : String(before) })
  },
})

export const capsuleById = route({
  method: 'get',
  path: '/v1/capsules/{capsule_id}',
  summary: 'One capsule; `Accept: application/cose` gives the signed statement, byte for byte.',
  roles: READERS,
  params: z.strictObject({ capsule_id: digest }),
  answers: {
    200: [{ type: 'application/json', schema: capsule }, { type: 'application/cose' }],
  },
  problems: ['not_found', 'archived'],
  async handle({ params, http }, { gate }) {
    const lines = await gate.data.journal.find(params.capsule_id)
    const line = lines.find((found) => found.type === 'CAPSULE')
    if (line === undefined) throw new AdminProblem('not_found', 'No such capsule.')
    return http.accepts(['application/json', 'application/cose']) === 'application/cose'
      ? { kind: 'bytes', type: 'application/cose', bytes: statementOf(line) }
      : json(line.capsule)
  },
})
