import { z } from 'zod'
import type { ActionLines } from '../../../gate/find-action.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { actionId, digest, time, verdict } from './schemas.js'

const action = z.strictObject({
  action_id: actionId,
  state: z.enum(['in_flight', 'concluded']),
  decision_id: z.string().nullable(),
  verdict: verdict.nullable(),
  capsule_id: digest.nullable(),
  operator: z.string().nullable(),
  developer: z.string().nullable(),
  /** Null for what was never dispatched: public records of refusals name neither. */
  agent: z.string().nullable(),
  tool: z.string().nullable(),
  effect_status: z.string().nullable(),
  mode: z.string().nullable(),
  timestamp: time.nullable(),
})

export const actionStatus = route({
  method: 'get',
  path: '/v1/actions/{action_id}',
  summary: 'What became of an action; digests and categories only.',
  roles: ADMIN_ROLES,
  params: z.strictObject({ action_id: actionId }),
  answers: answering(action),
  problems: ['not_found'],
  async handle({ params }, { gate }) {
    const action = await gate.read.action(params.action_id)
    if (action === null) throw new AdminProblem('not_found', 'No such action.')
    return json(statusOf(params.action_id, action))
  },
})

function statusOf(id: string, { dispatched, concluded }: ActionLines): z.infer<typeof action> {
  const capsule = concluded?.capsule
  return {
    action_id: id,
    state: capsule === undefined ? 'in_flight' : 'concluded',
    decision_id: capsule?.['dev.capsulegate.decision_id'] ?? dispatched?.decision_id ?? null,
    verdict: capsule?.disposition.verdict_class ?? null,
    capsule_id: capsule?.capsule_id ?? null,
    operator: capsule?.operator ?? dispatched?.operator ?? null,
    developer: capsule?.developer ?? dispatched?.developer ?? null,
    agent: dispatched?.agent ?? null,
    tool: dispatched?.tool ?? null,
    effect_status: capsule?.effect?.status ?? null,
    mode: capsule?.['dev.capsulegate.mode'] ?? dispatched?.mode ?? null,
    timestamp: capsule?.timestamp ?? null,
  }
}
