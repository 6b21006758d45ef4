import { isRunByCaller } from '../../core/call/parts.js'
import { transitionOf } from '../../core/intent/object.js'
import { vouchFor } from '../../core/journal/dispatch-evidence.js'
import { amountsContext } from '../../core/journal/encryption-context.js'
import { plainEntry } from '../../core/journal/entry.js'
import type { MembersOf } from '../../core/journal/vocabulary.js'
import { rowOf } from '../../core/verdict/verdict.js'
import type { Dispatch, Dispatched } from '../../ports/dispatch.js'
import type { Parts, Reserved } from '../context.js'
import { capturedRequest } from '../evidence/frozen.js'
import { jsonPart } from '../evidence/parts.js'
import { evidenceRecord } from '../evidence/record.js'
import { compare } from '../intent/after/compare.js'
import { stepOf } from '../intent/after/transition.js'
import { RecordUnavailable, type Sent } from './exit.js'

/**
 * The intent to dispatch and the evidence so far are durable before the first byte leaves (promise 2). The
 * generation number and the agent's credentials are checked again just before it does (promise 5).
 */
export async function send(reserved: Reserved, dispatch: Dispatch, parts: Parts): Promise<Sent> {
  await recordIntent(reserved, parts)
  await parts.seam('before_first_byte')
  const dispatched = await run(reserved, dispatch, parts)
  await parts.seam('after_last_byte')
  const commitment = compare(reserved, dispatched)
  // No other step of the session is sent from here on.
  if (commitment?.matched === false && reserved.intent !== null)
    await parts.state.stopSession(reserved.intent.intent.sessionId)
  return {
    exit: 'sent',
    known: reserved,
    code: rowOf(dispatched.observation),
    dispatched,
    commitment,
  }
}

async function run(reserved: Reserved, dispatch: Dispatch, parts: Parts): Promise<Dispatched> {
  const { actionId, call, rule } = reserved
  const stillAllowed = (): boolean =>
    parts.world().generation === reserved.world.generation &&
    parts.identity.isStillKnown(reserved.agent) &&
    stillStands(reserved, parts)
  if (!stillAllowed()) {
    return { observation: { kind: 'not_sent', cause: 'withdrawn', deadline: false }, held: null }
  }
  try {
    const saltedDigest = rule.digest_salt === 'tenant' ? parts.tenant.responseOctets : null
    return await dispatch({ actionId, call, rule, stillAllowed, saltedDigest })
  } catch (error) {
    // Bytes may have left, so the outcome is unknown.
    parts.report({ level: 'error', event: 'dispatch_threw', actionId, detail: String(error) })
    return { observation: { kind: 'sent', cause: 'dispatch_threw', deadline: false }, held: null }
  }
}

/**
 * The call's own session, mandate and object: the generation would let one agent make all calls stale. A call that goes
 * on by itself brings no mandate again, and has the one that identified its agent.
 */
function stillStands(reserved: Reserved, parts: Parts): boolean {
  const { intent, agent } = reserved
  const mandate = reserved.mandate ?? agent.mandate
  if (mandate === undefined) return true
  const { sessionId = null, missionRef = null } = intent?.intent ?? {}
  const standing = { sessionId, mandateId: mandate.id, object: judgedIn(reserved) }
  return (
    parts.mandates.isStillGood(mandate) &&
    parts.state.stillStands({ ...standing, missionRef: reserved.mandate?.missionRef ?? missionRef })
  )
}

/** The state that the judgement rests on; null where the call is possible in every one. */
function judgedIn({ rule, mandate, object }: Reserved): Reserved['object'] {
  if (object === null || mandate?.permittedStates != null) return object
  const changes = object.model !== null && transitionOf(object.model, rule.action) !== undefined
  return changes ? object : null
}

async function recordIntent(reserved: Reserved, parts: Parts): Promise<void> {
  await parts.seam('before_intent')
  const { call, rule } = reserved
  const captured = rule.capture === 'full' ? capturedRequest(call, parts) : []
  const writing: Promise<unknown>[] = []
  try {
    const line = plainEntry('ACTION_DISPATCHED', intent(reserved, parts))
    // `recover` trusts the line by this part, because only the gate can encrypt it.
    const vouched = jsonPart('dispatch', 'dispatch', vouchFor(line.json, parts.crypto), parts)
    const evidence = [...reserved.evidence, ...captured, vouched]
    writing.push(parts.evidence.put(evidenceRecord(reserved, evidence, parts)))
    writing.push(parts.journal.append([line]))
    if (reserved.intent?.written != null) writing.push(reserved.intent.written)
    await Promise.all(writing)
  } catch (error) {
    // The line may still become durable: then it holds what was reserved until a capsule settles it.
    await Promise.allSettled(writing)
    await parts.state.settle(reserved.actionId, { kind: 'release' })
    throw new RecordUnavailable(String(error))
  }
  await parts.seam('after_intent')
}

/** That the call may have been sent, how it was judged, and what it takes of keys, grants and budgets. */
function intent(reserved: Reserved, parts: Parts): MembersOf<'ACTION_DISPATCHED'> {
  const { rule, agent, world } = reserved
  return {
    action_id: reserved.actionId,
    decision_id: reserved.decisionId,
    operator: world.operator,
    agent: agent.agent,
    developer: agent.developer,
    tool: rule.tool,
    request_digest: reserved.requestDigest,
    request_octets: reserved.requestOctets,
    effect_type: rule.effect.type,
    irreversibility_class: rule.effect.irreversibility_class,
    manifest_digest: reserved.manifestDigest,
    policy_digest: world.policy.digest,
    mode: reserved.mode,
    constraints: reserved.records,
    ...(reserved.keyHash === null ? {} : { key: reserved.keyHash }),
    ...(reserved.grant === null ? {} : { grant: reserved.grant }),
    ...(reserved.supersedes === null ? {} : { supersedes: reserved.supersedes }),
    ...(reserved.claims.length === 0 ? {} : budgetsOf(reserved, parts)),
    ...(isRunByCaller(reserved.call) ? { acts: 'runtime' as const } : {}),
    ...(reserved.intent === null ? {} : { intent: stepOf(reserved, reserved.intent) }),
  }
}

/** Amounts are arguments, so they are encrypted; they are in the line because erasing evidence must not refill a budget. */
function budgetsOf(
  { actionId, claims }: Reserved,
  { tenant }: Parts,
): Pick<MembersOf<'ACTION_DISPATCHED'>, 'budgets' | 'amounts'> {
  const budgets = claims.map(({ constraint, scope, windowSeconds, kind }) => ({
    constraint,
    scope,
    window_seconds: windowSeconds,
    kind,
  }))
  const sums = claims.filter(({ kind }) => kind === 'sum').map(({ amount }) => amount)
  if (sums.length === 0) return { budgets }
  return {
    budgets,
    amounts: tenant.amounts.encrypt(sums.join(' '), amountsContext(actionId, budgets)),
  }
}
