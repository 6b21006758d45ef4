import { z } from 'zod'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { actionId, capsule } from './schemas.js'

export const outcomeCreate = route({
  method: 'post',
  path: '/v1/outcomes',
  summary:
    'States what became of an action. `confirmed` by word is recorded as claimed and stays dispatched: ' +
    'the gate did not see it.',
  roles: ['operator'],
  body: z.strictObject({
    action_id: actionId,
    status: z.enum(['confirmed', 'failed', 'reverted']),
    // A join key that stands in a public capsule (seed §5.2): an identifier, never prose.
    ref: z.string().regex(/^[^\s\p{C}]{1,512}$/u, 'a reference without spaces'),
  }),
  answers: answering({ action_id: actionId, capsule }, 201),
  problems: ['not_found', 'never_dispatched', 'in_flight', 'record_unavailable'],
  async handle({ body, principal }, { gate }) {
    const { action_id, status, ref } = body
    const report = { actionId: action_id, status, ref, by: principal.name }
    const done = await gate.recordOutcome(report)
    switch (done.kind) {
      case 'recorded':
        return json({ action_id: done.actionId, capsule: done.capsule }, 201)
      case 'unknown_action':
        throw new AdminProblem('not_found', 'No such action.')
      case 'never_dispatched':
      case 'in_flight':
        throw new AdminProblem(done.kind)
    }
  },
})
