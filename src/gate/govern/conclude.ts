import { deadlineAt } from '../../core/approval/deadline.js'
import { hex } from '../../core/bytes/hex.js'
import type { CapsuleInput, EffectMeta } from '../../core/capsule/input.js'
import type { Plain } from '../../core/json/value.js'
import { type Happened, verdictOf } from '../../core/verdict/verdict.js'
import type { EvidencePart } from '../../ports/evidence.js'
import { responsePart } from '../answer/replay.js'
import { openingEntry } from '../approval/open.js'
import type { Known, Parts } from '../context.js'
import { reasonPart } from '../evidence/reason.js'
import { type Happening, writeCapsule } from '../write-capsule.js'
import { aboutEnding } from './about.js'
import { evidenceRecord, saltedPart } from './dispatch.js'
import type { Ending } from './exit.js'

/** The only road to an answer: what became of the call, as its capsule, durable. The answer names it. */
export async function conclude(ending: Ending, parts: Parts): Promise<string> {
  const { known } = ending
  const after = evidenceAfter(ending, parts)
  const why = reasonOf(ending)
  const reason = why === null ? null : reasonPart(ending.code, why, parts)
  const record = reason === null ? after : [...after, reason]
  const capsule = await writeCapsule(
    {
      what: { kind: 'verdict', input: capsuleInput(ending, reason?.digest) },
      evidence: record.length === 0 ? null : evidenceRecord(known, record, parts),
      // What a human is to decide on is there before they are asked.
      awaited: ending.exit === 'asked',
      urgent: ending.exit === 'sent',
      ...settlesOf(ending, after),
      ...aboutEnding(ending),
      ...capturedOf(ending, after),
      ...(ending.exit === 'asked'
        ? { beside: (written) => [openingEntry(ending, written, parts)] }
        : {}),
      announce: (written) => parts.concluding?.(ending, written),
    },
    parts,
  )
  return capsule.capsule_id
}

function capsuleInput(ending: Ending, reason: string | undefined): CapsuleInput {
  const known: Known = ending.known
  return {
    identity: {
      action_id: known.actionId,
      action_type: 'decide',
      operator: known.world.operator,
      developer: known.identified.kind === 'known' ? known.identified.developer : 'anonymous',
      timestamp: known.at,
    },
    verdict: verdictOf(happened(ending, reason)),
    constraints: known.records ?? [],
    extensions: {
      ...(known.manifestDigest === undefined
        ? {}
        : { 'dev.capsulegate.manifest_digest': known.manifestDigest }),
      'dev.capsulegate.policy_digest': known.world.policy.digest,
      'dev.capsulegate.mode': known.mode ?? known.world.mode,
      'dev.capsulegate.decision_id': known.decisionId ?? known.actionId,
      ...(ending.exit === 'asked'
        ? { 'dev.capsulegate.deadline': deadlineAt(ending.known.opening.hitl, 0) }
        : {}),
    },
    ...chainOf(ending),
  }
}

/** What sent nothing under a grant gave it back: the item stays open and the grant usable. */
function chainOf(ending: Ending): Pick<CapsuleInput, 'chain'> {
  const { supersedes } = ending.known
  const released = ending.exit === 'sent' && ending.dispatched.observation.kind === 'not_sent'
  return supersedes == null || released ? {} : { chain: { supersedes } }
}

function happened(ending: Ending, reason_digest: string | undefined): Happened {
  const base = { code: ending.code, ...(reason_digest === undefined ? {} : { reason_digest }) }
  if (ending.exit !== 'sent') return { ...base, sent: null }
  const { known, dispatched } = ending
  const { observation } = dispatched
  return { ...base, sent: { observation, by: known.by, effect: effectMeta(known) } }
}

const effectMeta = ({
  rule,
  requestDigest,
  requestOctets,
}: Pick<Required<Known>, 'rule' | 'requestDigest' | 'requestOctets'>): EffectMeta => ({
  type: rule.effect.type,
  irreversibility_class: rule.effect.irreversibility_class,
  request_digest: requestDigest,
  request_octets: requestOctets,
})

/** {code, constraint | policy_ids, threshold?, observed?}: no times, no ids (DESIGN §5). */
function reasonOf(ending: Ending): { readonly [name: string]: Plain } | null {
  if (ending.exit !== 'sent') {
    const { reason } = ending
    return {
      code: ending.code,
      ...(reason.constraint === undefined ? {} : { constraint: reason.constraint }),
      ...(reason.policy_ids === undefined ? {} : { policy_ids: reason.policy_ids }),
      ...(reason.threshold === undefined ? {} : { threshold: reason.threshold }),
      ...(reason.observed === undefined ? {} : { observed: reason.observed }),
    }
  }
  const { observation } = ending.dispatched
  if (observation.kind === 'not_sent' || observation.kind === 'sent') {
    return { code: ending.code, observed: observation.cause }
  }
  return null
}

/** What is known only now. A refusal brings all its evidence here; a dispatch already put the rest. */
function evidenceAfter(ending: Ending, parts: Parts): readonly EvidencePart[] {
  if (ending.exit !== 'sent') return ending.known.evidence ?? []
  const { observation, held } = ending.dispatched
  const sha256 = (bytes: Uint8Array): string => hex(parts.crypto.sha256(bytes))
  const response = responsePart(ending.known, observation, held, sha256)
  if (observation.kind !== 'sent' || observation.partial === undefined) return response
  const { partial, status = null } = observation
  return [...response, saltedPart('observation', 'partial', { ...partial, status }, parts)]
}

/** Nothing sent: grant, key and budget go back (DESIGN §3). */
function settlesOf(ending: Ending, after: readonly EvidencePart[]): Pick<Happening, 'settles'> {
  if (ending.exit !== 'sent') return {}
  if (ending.dispatched.observation.kind === 'not_sent') return { settles: { outcome: 'release' } }
  const replayable = after.some(({ kind }) => kind === 'response')
  return { settles: { outcome: 'commit', replayable } }
}

/** What `capture: full` kept under the capsule's own digests; an answer that streamed was not. */
function capturedOf(ending: Ending, after: readonly EvidencePart[]): Pick<Happening, 'captured'> {
  if (ending.exit !== 'sent') return {}
  const { capture, digest_salt } = ending.known.rule
  if (capture !== 'full' || digest_salt === 'tenant') return {}
  const kept = after.some(({ kind }) => kind === 'response')
  return { captured: kept ? ['request', 'response'] : ['request'] }
}
