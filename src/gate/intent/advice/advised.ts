import { pathsTo } from '../../../core/intent/paths.js'
import { readIntent } from '../../../core/intent/read.js'
import { parse } from '../../../core/json/parse.js'
import { type Plain, toPlain } from '../../../core/json/value.js'
import { isReject } from '../../../core/verdict/idp.js'
import { TABLE } from '../../../core/verdict/table.js'
import { identitiesOf } from '../../approval/call-identity.js'
import type { Known, Matched, Parts } from '../../context.js'
import type { Details, Ending, Refused } from '../../govern/exit.js'
import { hashKey } from '../../govern/hash-key.js'
import { isMatched } from '../is-matched.js'
import { openActions } from './open-actions.js'

const MOST_PATHS = 3
/** Refusals behind which a person's judgement can be asked for: the call comes as far as `approve` (seed §6.3). */
const ASKABLE: ReadonlySet<string> = new Set([
  'policy_denied',
  'constraint_failed',
  'constraint_error',
  'budget_exceeded',
  'duplicate_call',
])

/** A refusal with the members of an Enriched DENY (seed §6): what was received, and what the agent may do instead. */
export async function advised(ending: Ending, parts: Parts): Promise<Ending> {
  if (ending.exit === 'sent') return ending
  const timestamp = { timestamp: ending.known.at }
  if (ending.exit === 'asked') {
    return { ...ending, details: { ...timestamp, ...ending.details } }
  }
  const { code, known, details } = ending
  const isDenial = !isReject(code) && TABLE[code].verdict !== 'engine_failure'
  const advice = isDenial && known.rule?.intent !== undefined ? await adviceFor(ending, parts) : {}
  return { ...ending, details: { ...timestamp, ...advice, ...details } }
}

async function adviceFor({ known, code }: Refused, parts: Parts): Promise<Details> {
  return {
    idp_received: received(known),
    ...(parts.denyDetail === 'explain' ? instead(known, parts) : {}),
    ...((await mayAskPerson(known, code, parts)) ? { hem_available: true } : {}),
  }
}

/** The declaration as it was received; null where it is none, or was not validated. */
function received({ intent, call }: Known): Plain {
  const carried = call.declared?.kind === 'carried' ? call.declared.intent : null
  const octets = intent?.received ?? carried
  if (octets === null || !readIntent(octets, { pii: 'off' }).ok) return null
  const parsed = parse(octets)
  return parsed.ok ? (toPlain(parsed.value) as Plain) : null
}

/**
 * From the mandate's actions in this state, by the heads of policies alone: names, never conditions, and not without
 * end (§8.3).
 */
function instead(known: Known, parts: Parts): Details {
  const { mandate, object, rule, world, identified, at, intent } = known
  if (mandate == null || object == null || rule === undefined || identified.kind !== 'known') {
    return {}
  }
  const session = intent?.intent.sessionId ?? mandate.id
  if (!parts.advice.mayAdvise(session, Date.parse(at))) return {}
  const of = { mandate, object, agent: identified }
  const available_actions = openActions(of, world, rule.action)
  const { model, state } = object
  const paths =
    model === null ? [] : pathsTo(model, state, rule.action, mandate.actions, MOST_PATHS)
  const suggested_paths = paths.map((path) => ({ path_id: parts.ids.actionId(), ...path }))
  return { available_actions, suggested_paths }
}

/** Only where the same call with `hem_urgency: REQUIRED` would be put before a person now (§6.3). */
async function mayAskPerson(known: Known, code: string, parts: Parts): Promise<boolean> {
  const { intent, agent, call, at } = known
  if (intent == null || agent === undefined || !parts.approvals || !ASKABLE.has(code)) return false
  // The approval that it names has ended.
  if (call.approvalId !== null || !isMatched(known)) return false
  const { sessionId } = intent.intent
  const { state } = parts
  const [session, open, ofAgent, refused, answered] = await Promise.all([
    state.session(sessionId),
    state.approvals(),
    state.openApprovals(agent.agent),
    state.refusal(agent.agent, identitiesOf(known, parts), Date.parse(at)),
    answeredBefore(known, parts),
  ])
  const ofSession = open.filter((approval) => approval.sessionId === sessionId).length
  return (
    session !== null &&
    session.heldBy === null &&
    refused === null &&
    !answered &&
    ofAgent < parts.openPerAgent &&
    ofSession < parts.openPerSession
  )
}

/** Its Idempotency-Key stands for an answer already, and nobody is asked about that again. */
async function answeredBefore(known: Matched, parts: Parts): Promise<boolean> {
  const keyHash = hashKey(known, parts)
  if (keyHash === null) return false
  const { world, identified } = known
  return (await parts.state.keyState(world.operator, identified.agent, keyHash)) !== null
}
