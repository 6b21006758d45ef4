import { deadlineAt } from '../../core/approval/deadline.js'
import { isRunByCaller } from '../../core/call/parts.js'
import type { CapsuleInput, EffectMeta } from '../../core/capsule/input.js'
import { TABLE } from '../../core/verdict/table.js'
import { type Happened, verdictOf } from '../../core/verdict/verdict.js'
import type { EvidencePart } from '../../ports/evidence.js'
import { type Answer, answerTo, unrecorded } from '../answer/answer.js'
import { responseParts } from '../answer/replay.js'
import { openingEntry } from '../approval/ask.js'
import type { Known, Parts } from '../context.js'
import { claimedPart, reasonPart, saltedPart } from '../evidence/parts.js'
import { evidenceRecord } from '../evidence/record.js'
import { advised } from '../intent/advice/advised.js'
import { type After, afterOf } from '../intent/after/after.js'
import { decidedAction, type WrittenWith, writeCapsule } from '../write-capsule.js'
import { allRecords } from './constrain.js'
import type { Asked, Ending, Reason, Refused, Sent } from './exit.js'

/** The answer to a call, after its capsule: if that cannot be written, the answer says so (promise 1). */
export async function record(ending: Ending, parts: Parts): Promise<Answer> {
  const { actionId, identified } = ending.known
  try {
    const capsuleId = await conclude(ending, parts)
    return answerTo(await advised(ending, parts), capsuleId)
  } catch (error) {
    parts.report({ level: 'error', event: 'capsule_not_written', actionId, detail: String(error) })
    const sent = ending.exit === 'sent' && TABLE[ending.code].effect !== 'none'
    return unrecorded(sent ? 'record_lost' : 'record_unavailable', actionId, identified)
  } finally {
    // What a dispatched call holds is given up when it is settled.
    if (ending.exit !== 'sent') await parts.state.unclaim(actionId)
  }
}

/** Writes what became of the call as its capsule; resolves to the capsule's id when that is durable. */
export async function conclude(ending: Ending, parts: Parts): Promise<string> {
  const { known } = ending
  const after = afterOf(ending, parts)
  const evidence = evidenceOf(ending, parts)
  const why = reasonOf(ending)
  const reason = why === null ? null : reasonPart(ending.code, { code: ending.code, ...why }, parts)
  const all = [...evidence, ...after.evidence, ...(reason === null ? [] : [reason])]
  const input = capsuleInput(ending, reason === null ? {} : { reason_digest: reason.digest })
  const writing = writeCapsule(
    after.records.length === 0
      ? input
      : { ...input, constraints: [...input.constraints, ...after.records] },
    {
      evidence: all.length === 0 ? null : evidenceRecord(known, all, parts),
      announce: (written) => parts.concluding?.(ending, written),
      ...(ending.exit === 'sent' ? withSent(ending, evidence) : withRefusal(ending)),
      ...besideOf(ending, after, parts),
      ...(after.following === null ? {} : { following: after.following }),
    },
    parts,
  )
  // The declaration goes with this write, and nothing is answered before it is durable (DESIGN §3).
  const [capsule] = await Promise.all([writing, known.intent?.written])
  return capsule.capsule_id
}

/** What stands behind the capsule in the same append. */
function besideOf(ending: Ending, { entries }: After, parts: Parts): Pick<WrittenWith, 'beside'> {
  if (ending.exit === 'asked')
    return { beside: (written) => [openingEntry(ending, written, parts)] }
  return entries.length === 0 ? {} : { beside: () => entries }
}

function capsuleInput(ending: Ending, reason: Pick<Happened, 'reason_digest'>): CapsuleInput {
  const known: Known = ending.known
  const { actionId, at, world, identified, manifestDigest, mode, decisionId, supersedes } = known
  const developer = identified.kind === 'known' ? identified.developer : 'anonymous'
  // A call under a grant that sent nothing gives the grant back: its item stays open.
  const released = ending.exit === 'sent' && ending.dispatched.observation.kind === 'not_sent'
  return {
    identity: decidedAction(actionId, { operator: world.operator, developer }, at),
    verdict: verdictOf({ code: ending.code, ...reason, sent: sentOf(ending) }),
    constraints: allRecords(known),
    extensions: {
      ...(manifestDigest === undefined
        ? {}
        : { 'dev.capsulegate.manifest_digest': manifestDigest }),
      'dev.capsulegate.policy_digest': world.policy.digest,
      'dev.capsulegate.mode': mode ?? world.mode,
      'dev.capsulegate.decision_id': decisionId ?? actionId,
      ...(known.intent == null ? {} : { 'dev.capsulegate.intent_ref': known.intent.eventId }),
      ...(ending.exit === 'asked'
        ? { 'dev.capsulegate.deadline': deadlineAt(ending.known.opening.hitl, 0) }
        : {}),
    },
    ...(supersedes == null || released ? {} : { chain: { supersedes } }),
  }
}

const RUNTIME = { acts: 'runtime' } as const

function sentOf(ending: Ending): Happened['sent'] {
  if (ending.exit !== 'sent') return null
  const { rule, requestDigest, requestOctets, by } = ending.known
  const effect: EffectMeta = {
    type: rule.effect.type,
    irreversibility_class: rule.effect.irreversibility_class,
    request_digest: requestDigest,
    request_octets: requestOctets,
    ...(isRunByCaller(ending.known.call) ? RUNTIME : {}),
  }
  return { observation: ending.dispatched.observation, by, effect }
}

/** Null where there is a response: its status is in the record. */
function reasonOf(ending: Ending): Reason | null {
  if (ending.exit !== 'sent') return ending.reason
  const { observation } = ending.dispatched
  return observation.kind === 'not_sent' || observation.kind === 'sent'
    ? { observed: observation.cause }
    : null
}

/** What is known only at the end. A refusal keeps all its evidence here; a dispatch has kept the rest already. */
function evidenceOf(ending: Ending, parts: Parts): readonly EvidencePart[] {
  if (ending.exit !== 'sent') return ending.known.evidence ?? []
  const { observation, held } = ending.dispatched
  if (observation.kind === 'claimed') {
    const { ok, said } = observation
    return said === undefined ? [] : [claimedPart(ok, said, parts)]
  }
  const response = responseParts(ending.known, observation, held, parts)
  if (observation.kind !== 'sent' || observation.partial === undefined) return response
  const { partial, status = null } = observation
  return [...response, saltedPart('observation', 'partial', { ...partial, status }, parts)]
}

/** Nothing sent: grant, key and budget are given back (DESIGN §3). */
function withSent(
  { known, dispatched }: Sent,
  evidence: readonly EvidencePart[],
): Pick<WrittenWith, 'urgent' | 'settles' | 'captured' | 'reportDigest'> {
  const reported = evidence.find(({ name }) => name === 'claimed')
  const kept = evidence.some(({ kind }) => kind === 'response')
  const { capture, digest_salt } = known.rule
  // What is kept under the capsule's own digests; a response that streamed was not kept.
  const isCaptured = capture === 'full' && digest_salt !== 'tenant'
  return {
    urgent: true,
    settles:
      dispatched.observation.kind === 'not_sent'
        ? { outcome: 'release', replayable: false }
        : { outcome: 'commit', replayable: kept },
    ...(reported === undefined ? {} : { reportDigest: reported.digest }),
    ...(isCaptured ? { captured: kept ? ['request', 'response'] : ['request'] } : {}),
  }
}

/** No earlier line says whose call it was, so the capsule's own line does (DESIGN §5). */
function withRefusal(ending: Refused | Asked): Pick<WrittenWith, 'about' | 'awaited'> {
  const { identified, rule, requestDigest } = ending.known
  return {
    ...(identified.kind === 'unknown'
      ? {}
      : {
          about: {
            agent: identified.agent,
            ...(rule === undefined ? {} : { tool: rule.tool }),
            ...(requestDigest === undefined ? {} : { request_digest: requestDigest }),
          },
        }),
    // What a human decides on is durable before they are asked.
    ...(ending.exit === 'asked' ? { awaited: true } : {}),
  }
}
