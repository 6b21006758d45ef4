import { z } from 'zod'
import type { IntentFound } from '../../../gate/intent/read-intents.js'
import { answering, json, route } from '../route.js'
import { actionId, digest, name, time, verdict } from './schemas.js'

const MOST_ROWS = 100

const shown = z.strictObject({
  seq: z.int(),
  event_id: z.string(),
  action_id: actionId,
  idp_id: z.string(),
  session_id: z.string(),
  so_id: z.string(),
  step_sequence: z.int(),
  mandate_id: z.string(),
  agent: z.string(),
  tool: z.string(),
  requested_action: z.string(),
  profile: z.enum(['IDP_STANDARD', 'IDP_THIN']),
  audit_accessible: z.boolean(),
  /** The agent's time and the gate's. */
  timestamp: z.string(),
  received_at: time,
  /** Of its own call: where that waits for a person, what the decision came to is a later action's. */
  verdict: verdict.nullable(),
  capsule_id: digest.nullable(),
  match_result: z.enum(['MATCHED', 'IDP_COMMITMENT_GAP']).nullable(),
  intent_digest: digest,
  declaration_state: z.enum(['present', 'erased', 'missing', 'damaged']),
  /** The received octets, exactly, as text: JSON in the agent's own words, which nobody has checked. */
  declaration: z.string().nullable(),
})

/** What agents declared, in their own words: for those who audit, and restricted ones for external auditors alone. */
export const intentList = route({
  method: 'get',
  path: '/v1/intents',
  summary:
    'Declarations of agents, oldest first; give next as `after` until it is null. A page may be empty and not the ' +
    'last. Restricted ones (`audit_accessible: false`) are there for external auditors alone.',
  roles: ['auditor', 'external_auditor', 'operator'],
  query: z.strictObject({
    session: name.optional(),
    object: name.optional(),
    goal: name.optional(),
    agent: name.optional(),
    /** The number of a line. */
    after: z
      .string()
      .regex(/^\d{1,15}$/)
      .optional(),
    limit: z
      .string()
      .regex(/^[1-9]\d{0,2}$/)
      .optional(),
  }),
  answers: answering({ intents: z.array(shown), next: z.string().nullable() }),
  problems: ['archived'],
  async handle({ query: { after, limit, ...filter }, principal }, { gate }) {
    const { found, next } = await gate.read.intents({
      ...filter,
      after: Number(after ?? 0),
      limit: Math.min(MOST_ROWS, Number(limit ?? 50)),
      restricted: principal.role === 'external_auditor',
    })
    return json({ intents: found.map(rowOf), next: next === null ? null : String(next) })
  },
})

function rowOf({
  line,
  verdict,
  capsuleId,
  matchResult,
  declaration,
}: IntentFound): z.infer<typeof shown> {
  return {
    seq: line.seq,
    event_id: line.event_id,
    action_id: line.action_id,
    idp_id: line.idp_id,
    session_id: line.session_id,
    so_id: line.so_id,
    step_sequence: line.step_sequence,
    mandate_id: line.mandate_id,
    agent: line.agent,
    tool: line.tool,
    requested_action: line.requested_action,
    profile: line.profile,
    audit_accessible: line.audit_accessible,
    timestamp: line.timestamp,
    received_at: line.received_at,
    verdict,
    capsule_id: capsuleId,
    match_result: matchResult,
    intent_digest: line.intent_digest,
    declaration_state: declaration.state,
    declaration: declaration.state === 'present' ? declaration.text : null,
  }
}
