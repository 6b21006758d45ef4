import { z } from 'zod'
import type { Plain } from '../../../core/json/value.js'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { actionId, name, time } from '../routes/schemas.js'

/** Name → constraint in the manifest's short form; read against the tool by the gate. */
const bounds = z.record(z.string(), z.unknown())
const grant = z.strictObject({
  grant: actionId,
  agent: z.string(),
  tool: z.string(),
  bounds,
  expires_at: time,
  uses_left: z.int(),
})

export const grantList = route({
  method: 'get',
  path: '/v1/grants',
  summary:
    'Standing grants that can still be used. Bounds are thresholds: no agent ever sees them.',
  roles: ['auditor', 'operator'],
  answers: answering({ grants: z.array(grant) }),
  async handle(_, { gate }) {
    const grants = (await gate.read.standingGrants()).map(
      ({ expiresAt: expires_at, usesLeft: uses_left, ...rest }) => ({
        ...rest,
        expires_at,
        uses_left,
      }),
    )
    return json({ grants })
  },
})

export const grantCreate = route({
  method: 'post',
  path: '/v1/grants',
  summary:
    'Lets one agent use one tool within bounds, for a while and so many times, without asking again. ' +
    'What runs under it is recorded as policy, never as a human.',
  roles: ['operator'],
  body: z.strictObject({ agent: name, tool: name, bounds, expires_at: time, uses: z.int() }),
  answers: answering({ grant: actionId }, 201),
  problems: ['grant_invalid', 'record_unavailable'],
  async handle({ body, principal }, { gate }) {
    const { expires_at: expiresAt, ...order } = body
    const bounds = body.bounds as { [name: string]: Plain }
    const done = await gate.issueStanding({ ...order, expiresAt, bounds, by: principal.name })
    if (done.kind === 'refused') throw new AdminProblem('grant_invalid', done.problems.join('; '))
    return json({ grant: done.grant }, 201)
  },
})

export const grantDelete = route({
  method: 'delete',
  path: '/v1/grants/{grant}',
  summary: 'Revokes a standing grant: in force for the next call, and for calls not yet reserved.',
  roles: ['operator'],
  params: z.strictObject({ grant: actionId }),
  answers: answering({ revoked: actionId }),
  problems: ['not_found', 'record_unavailable'],
  async handle({ params, principal }, { gate }) {
    if (!(await gate.read.isStanding(params.grant))) {
      throw new AdminProblem('not_found', 'There is no such standing grant.')
    }
    await gate.revokeStanding(params.grant, principal.name)
    return json({ revoked: params.grant })
  },
})
