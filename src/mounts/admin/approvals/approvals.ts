import { z } from 'zod'
import type { ApprovalDocument } from '../../../core/approval/document.js'
import { shownTwice } from '../../../core/approval/show.js'
import type { Plain } from '../../../core/json/value.js'
import type { Decider } from '../../../gate/approval/decide/model.js'
import type { Principal } from '../../../ports/admin.js'
import type { Approval } from '../../../ports/state.js'
import { AdminProblem } from '../problem.js'
import { type Admin, answering, json, route } from '../route.js'
import { actionId, digest, name } from '../routes/schemas.js'
import { DECISION_PROBLEMS, decide, decisionAnswer, decisionBody, refusedAs } from './decide.js'
import { approvalSummary, argumentsDigest, mayRead, rolesOf, summaryOf } from './view.js'

const id = z.strictObject({ approval_id: actionId })

export const approvalList = route({
  method: 'get',
  path: '/v1/approvals',
  summary:
    'Requests to humans, oldest first. `decided` are those that ended, for a day after their deadline; ' +
    'the ledger has all of them. `mine` leaves out those that ask others than you.',
  roles: ['viewer', 'auditor', 'approver', 'operator'],
  query: z.strictObject({
    state: z.enum(['pending', 'approved', 'open', 'decided']).optional(),
    tool: name.optional(),
    agent: name.optional(),
    mine: z.string().optional(),
  }),
  answers: answering({ approvals: z.array(approvalSummary) }),
  async handle({ query, principal }, { gate }) {
    const { state = 'open', tool, agent, mine } = query
    const all = state === 'decided' ? await gate.read.endedApprovals() : await gate.read.approvals()
    const wanted = all.filter(
      (approval) =>
        (state === 'open' || state === 'decided' || approval.state.kind === state) &&
        (tool === undefined || approval.tool === tool) &&
        (agent === undefined || approval.agent === agent) &&
        (mine === undefined || mayRead(principal, approval)),
    )
    return json({ approvals: wanted.map((approval) => summaryOf(approval, gate.read)) })
  },
})

export const approvalById = route({
  method: 'get',
  path: '/v1/approvals/{approval_id}',
  summary:
    'One request with the whole document a decision is bound to. An approver reads what they are asked; ' +
    'anything else does not exist for them.',
  roles: ['approver', 'auditor', 'operator'],
  params: id,
  answers: answering(
    approvalSummary.extend({
      document_state: z.enum(['present', 'erased', 'missing', 'damaged']),
      document: z.looseObject({ document: z.literal('gate.approval/v1') }).nullable(),
      /** JSON-DIGEST of `document.arguments`: what an approval system that showed them sends back. */
      arguments_digest: digest.nullable(),
      /** Agent, tool and arguments as people are shown them: nothing hidden, and as they are sent. */
      shown: z.string().nullable(),
    }),
  ),
  problems: ['not_found'],
  async handle({ params, principal }, admin) {
    const approval = await readable(params.approval_id, principal, admin)
    const found = await admin.gate.read.document(approval)
    return json({
      ...summaryOf(approval, admin.gate.read),
      document_state: found.state,
      ...(found.state === 'present'
        ? {
            document: found.document,
            arguments_digest: argumentsDigest(found.document, admin.crypto),
            shown: shownTwice(askedIn(found.document)),
          }
        : { document: null, arguments_digest: null, shown: null }),
    })
  },
})

/** What the decision is about stands in it too: a session, or what the agent says of the call. */
const askedIn = ({ agent, tool, arguments: args, ...document }: ApprovalDocument): Plain => {
  const { not_judged, session_id, holds, approval_lifts, idp_summary } = document
  return {
    agent,
    tool,
    arguments: args,
    ...(not_judged === undefined ? {} : { not_judged }),
    ...(session_id === undefined ? {} : { session_id }),
    ...(holds === undefined ? {} : { holds }),
    ...(approval_lifts === undefined ? {} : { approval_lifts }),
    ...(idp_summary === undefined ? {} : { agent_says: idp_summary }),
  }
}

/** The approval, if it exists for this principal; an id is no oracle. */
export async function readable(
  approvalId: string,
  principal: Principal,
  { gate }: Pick<Admin, 'gate'>,
): Promise<Approval> {
  const approval = await gate.read.approval(approvalId)
  if (approval === null || !mayRead(principal, approval)) {
    throw new AdminProblem('not_found', 'There is no such request.')
  }
  return approval
}

export const approvalDecide = route({
  method: 'post',
  path: '/v1/approvals/{approval_id}/decision',
  summary:
    'Decides as the holder of the token. A person counts as a human (L1); a token made with --machine ' +
    'as policy. The same decision again gets the first answer, a different one 409.',
  roles: ['approver'],
  params: id,
  body: decisionBody,
  answers: answering(decisionAnswer),
  problems: DECISION_PROBLEMS,
  async handle({ params, body, principal }, admin) {
    await readable(params.approval_id, principal, admin)
    return json(await decide(params.approval_id, body, deciderOf(principal, 'token'), admin))
  },
})

export const approvalReopen = route({
  method: 'post',
  path: '/v1/approvals/{approval_id}/reopen',
  summary:
    "Lifts a person's refusal before its time: the same call asks a human again. Approves nothing. " +
    'An approver lifts what they are asked; a token made with --machine lifts nothing.',
  roles: ['approver', 'operator'],
  params: id,
  body: z.strictObject({ reason: z.string().max(2000).default('') }),
  answers: answering({ reopened: actionId }),
  problems: DECISION_PROBLEMS,
  async handle({ params, body, principal }, admin) {
    await readable(params.approval_id, principal, admin)
    const by = { decider: deciderOf(principal, 'token'), reason: body.reason }
    const done = await admin.gate.reopen(params.approval_id, by)
    if (done.kind === 'refused') throw refusedAs(done)
    return json({ reopened: params.approval_id })
  },
})

/** Who decides is who holds the credential; nothing a message says changes that. */
export function deciderOf(principal: Principal, via: 'token' | 'session'): Decider {
  const { name, machine } = principal
  const roles = rolesOf(principal)
  return machine
    ? { kind: 'machine', name, roles }
    : { kind: 'person', name, roles, assurance: 'L1', via }
}
