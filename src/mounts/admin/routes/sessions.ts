import { z } from 'zod'
import { haltFor } from '../../../gate/operate/halt.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import type { Session } from '../../../ports/state.js'
import { AdminProblem } from '../problem.js'
import { type Admin, answering, json, route } from '../route.js'
import { actionId, name, time } from './schemas.js'

const open = z.strictObject({
  session_id: name,
  state: z.literal('open'),
  agent: name,
  opened_at: time,
  used_at: time,
  /** The step declared last; 0 before the first. */
  last_step: z.int(),
  /** Declarations of another mission, since it was opened or resumed. */
  mismatches: z.int(),
  mandates: z.array(z.string()),
  /** What people are asked before it goes on: an approval's id, or that of the commitment gap that stopped it. */
  held_by: z.string().nullable(),
  /** The gap that stopped it, by its STATE_TRANSITIONED or ACTION_RESULT_RECORDED line. */
  gap: actionId.nullable(),
  halted: z.boolean(),
})
const over = z.strictObject({ session_id: name, state: z.literal('over') })
export type SessionShown = z.infer<typeof open>
export type SessionFound = SessionShown | z.infer<typeof over>
const opened = open.extend({ recorded: z.boolean() })
export type SessionOpened = z.infer<typeof opened>
const closed = over.extend({ recorded: z.boolean() })
export type SessionClosed = z.infer<typeof closed>

const params = z.strictObject({ session_id: name })
const roles = ADMIN_ROLES.filter((role) => role !== 'external_auditor')

export const sessionList = route({
  method: 'get',
  path: '/v1/sessions',
  summary: 'The open sessions of declared calls, oldest first.',
  roles,
  answers: answering({ sessions: z.array(open) }),
  async handle(_, { gate }) {
    const sessions = (await gate.read.sessions()).map((session) => shown(session, gate))
    return json({ sessions })
  },
})

export const sessionById = route({
  method: 'get',
  path: '/v1/sessions/{session_id}',
  summary: 'One session; of one that is over, just that.',
  roles,
  params,
  answers: answering(z.union([open, over])),
  problems: ['not_found'],
  async handle({ params: { session_id } }, { gate }) {
    const session = await gate.read.session(session_id)
    if (session !== null) return json(shown(session, gate))
    if (!(await gate.read.isOver(session_id))) throw unheardOf()
    return json({ session_id, state: 'over' })
  },
})

export const sessionCreate = route({
  method: 'post',
  path: '/v1/sessions',
  summary: 'Opens a session for one agent, before its first declaration.',
  roles: ['operator'],
  body: z.strictObject({ session_id: name, agent: name }),
  answers: answering(opened),
  problems: ['session_over', 'session_of_another', 'record_unavailable'],
  async handle({ body: { session_id: sessionId, agent }, principal }, { gate }) {
    const opening = await gate.openSession({ sessionId, agent, by: principal.name })
    if (opening === 'over') throw new AdminProblem('session_over')
    if (opening === 'foreign') throw new AdminProblem('session_of_another')
    const session = await gate.read.session(sessionId)
    // It can end between the two.
    if (session === null) throw new AdminProblem('session_over')
    return json({ ...shown(session, gate), recorded: opening === 'opened' })
  },
})

export const sessionClose = route({
  method: 'post',
  path: '/v1/sessions/{session_id}/close',
  summary:
    'Ends a session, for good: no call of it is sent, and nobody is asked about one any more.',
  roles: ['operator'],
  params,
  answers: answering(closed),
  problems: ['not_found', 'busy', 'record_unavailable'],
  async handle({ params: { session_id }, principal }, { gate }) {
    const closing = await gate.closeSession(session_id, principal.name)
    if (closing === 'unknown') throw unheardOf()
    if (closing === 'busy') {
      throw new AdminProblem(
        'busy',
        'Somebody decides about the session at this moment; try again.',
      )
    }
    return json({ session_id, state: 'over', recorded: closing === 'closed' })
  },
})

const unheardOf = (): AdminProblem =>
  new AdminProblem('not_found', 'There was never such a session.')

function shown(session: Session, { read }: Admin['gate']): SessionShown {
  const { sessionId, agent, openedAt, usedAt, lastStep, mismatches, mandates, heldBy, gap } =
    session
  const { operator } = read.judges()
  return {
    session_id: sessionId,
    state: 'open',
    agent,
    opened_at: openedAt,
    used_at: usedAt,
    last_step: lastStep,
    mismatches,
    mandates: [...mandates],
    held_by: heldBy,
    gap,
    halted: haltFor(read.halts(), { agent, operator, sessionId }) !== null,
  }
}
