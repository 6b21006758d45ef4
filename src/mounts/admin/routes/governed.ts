import { z } from 'zod'
import { PHASES } from '../../../gate/operate/set-mission.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { digest, name, uuid } from './schemas.js'

/** What operators say of mandates, missions and objects; `recorded`: false where it was so before. */
const recorded = z.boolean()
const revoked = z.strictObject({ mandate_id: name, revoked: z.literal(true), recorded })
export type MandateRevoked = z.infer<typeof revoked>
const phase = z.enum(PHASES)
const mission = z.strictObject({ mission_ref: uuid, phase, recorded })
export type MissionShown = z.infer<typeof mission>
const object = z.strictObject({
  so_id: uuid,
  /** Null: it is not known, because the outcome of a call was not seen. */
  state: z.string().nullable(),
  /** Pseudonym of the principal whose mandate changed it last. */
  principal: digest.nullable(),
})
export type ObjectShown = z.infer<typeof object>
const objectSet = z.strictObject({ so_id: uuid, state: name, recorded })
export type ObjectSet = z.infer<typeof objectSet>

export const mandateRevoke = route({
  method: 'post',
  path: '/v1/mandates/{mandate_id}/revoke',
  summary: 'Revokes a mandate, shown or not yet: no call under it is sent any more.',
  roles: ['operator'],
  params: z.strictObject({ mandate_id: name }),
  answers: answering(revoked),
  problems: ['record_unavailable'],
  handle: async ({ params: { mandate_id }, principal }, { gate }) =>
    json({
      mandate_id,
      revoked: true,
      recorded: await gate.revokeMandate(mandate_id, principal.name),
    }),
})

export const missionSet = route({
  method: 'post',
  path: '/v1/missions/{mission_ref}',
  summary: 'Says in which phase a mission is: no call is sent under one that is not active.',
  roles: ['operator'],
  params: z.strictObject({ mission_ref: uuid }),
  body: z.strictObject({ phase }),
  answers: answering(mission),
  problems: ['record_unavailable'],
  handle: async ({ params: { mission_ref }, body, principal }, { gate }) =>
    json({
      mission_ref,
      phase: body.phase,
      recorded: await gate.setMission(mission_ref, body.phase, principal.name),
    }),
})

const params = z.strictObject({ so_id: uuid })

export const objectById = route({
  method: 'get',
  path: '/v1/objects/{so_id}',
  summary: 'In which state a governed object is, as far as that is on record.',
  roles: ADMIN_ROLES.filter((role) => role !== 'external_auditor'),
  params,
  answers: answering(object),
  problems: ['not_found'],
  async handle({ params: { so_id } }, { gate }) {
    const known = await gate.read.object(so_id)
    if (known === null) {
      throw new AdminProblem('not_found', 'Nothing is on record of it: it is where objects begin.')
    }
    return json({ so_id, ...known })
  },
})

export const objectSetState = route({
  method: 'post',
  path: '/v1/objects/{so_id}',
  summary: 'Says in which state an object is, as after an outcome that nobody saw.',
  roles: ['operator'],
  params,
  body: z.strictObject({ state: name }),
  answers: answering(objectSet),
  problems: ['no_such_state', 'record_unavailable'],
  async handle({ params: { so_id }, body: { state }, principal }, { gate }) {
    const done = await gate.setObject(so_id, state, principal.name)
    if (done.kind !== 'no_such_state') {
      return json({ so_id, state, recorded: done.kind === 'set' })
    }
    const { states } = done
    const known = states.length === 0 ? 'no manifest names any' : `there are: ${states.join(', ')}`
    throw new AdminProblem('no_such_state', `Objects have no state ${state}; ${known}.`)
  },
})
