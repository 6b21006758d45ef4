import { deadlineAt } from '../core/approval/deadline.js'
import { buildCapsule } from '../core/capsule/build.js'
import type { CapsuleInput, EffectMeta } from '../core/capsule/input.js'
import type { Capsule } from '../core/capsule/model.js'
import { hex } from '../core/hex.js'
import type { CapsuleEntry } from '../core/journal/entry.js'
import type { About, Settles } from '../core/journal/lines/call.js'
import { jsonDigest } from '../core/json/build.js'
import type { Plain } from '../core/json/value.js'
import { toSeal } from '../core/statement/seal.js'
import { type Happened, verdictOf } from '../core/verdict/verdict.js'
import type { EvidencePart, Settlement } from '../ports.js'
import { openingEntries } from './approve-open.js'
import { evidenceRecord, saltedPart } from './dispatch.js'
import type { Concluded, Ending } from './exit.js'
import { responsePart } from './replay.js'
import type { Known, Parts } from './stage.js'

/**
 * The only road to an answer: capsule → statement → journal, durable. Evidence is handed to the kernel
 * before the capsule that commits to it, and both are durable before this resolves.
 */
export async function conclude(ending: Ending, parts: Parts): Promise<Concluded> {
  const { known } = ending
  const after = evidenceAfter(ending, parts)
  const reason = reasonPart(ending, parts)
  const capsule = buildCapsule(capsuleInput(ending, reason?.digest), parts.crypto)
  const settlement = settlementOf(ending, capsule, after)
  // Conclusions of what was sent may use the space set aside for them.
  const urgent = ending.kind === 'dispatched'
  parts.concluding?.(ending, capsule)
  await parts.seam('before_capsule')
  const record = [...after, ...(reason === null ? [] : [reason])]
  const put =
    record.length === 0 ? undefined : parts.evidence.put(evidenceRecord(known, record), { urgent })
  // What a human is to decide on is there before they are asked.
  if (known.opening !== undefined) await put
  const [, [line]] = await Promise.all([
    put,
    parts.journal.append(
      [
        capsuleEntry(capsule, settlement, 'agent_action', undefined, aboutOf(ending)),
        ...openingEntries(known, capsule, parts),
      ],
      { urgent },
    ),
  ])
  await parts.seam('after_capsule')
  if (settlement !== null) await parts.state.settle(known.actionId, settlement)
  if (line === undefined) throw new Error('the journal appended no line')
  return { actionId: known.actionId, capsuleId: capsule.capsule_id, line }
}

function capsuleInput(ending: Ending, reason: string | undefined): CapsuleInput {
  const { known } = ending
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
      ...(known.opening === undefined
        ? {}
        : { 'dev.capsulegate.deadline': deadlineAt(known.opening.hitl, 0) }),
    },
    ...chainOf(ending),
  }
}

/** What sent nothing under a grant gave it back: the item stays open and the grant usable. */
function chainOf(ending: Ending): Pick<CapsuleInput, 'chain'> {
  const { supersedes } = ending.known
  const released = ending.kind === 'dispatched' && ending.dispatched.observation.kind === 'not_sent'
  return supersedes == null || released ? {} : { chain: { supersedes } }
}

function happened(ending: Ending, reason_digest: string | undefined): Happened {
  const base = { code: ending.code, ...(reason_digest === undefined ? {} : { reason_digest }) }
  if (ending.kind === 'refused') return { ...base, sent: null }
  const { by = { kind: 'policy' } } = ending.known
  const { observation } = ending.dispatched
  return { ...base, sent: { observation, by, effect: effectMeta(ending.known) } }
}

function effectMeta({ rule, requestDigest, requestOctets }: Known): EffectMeta {
  if (rule === undefined || requestDigest === undefined || requestOctets === undefined) {
    throw new TypeError('a dispatched call was matched')
  }
  return {
    type: rule.effect.type,
    irreversibility_class: rule.effect.irreversibility_class,
    request_digest: requestDigest,
    request_octets: requestOctets,
  }
}

/** {code, constraint | policy_ids, threshold?, observed?, tenant_salt}: no times, no ids (DESIGN §5). */
function reasonPart(ending: Ending, parts: Parts): EvidencePart | null {
  const value = reasonOf(ending)
  if (value === null) return null
  const salted: { readonly [name: string]: Plain } = { ...value, tenant_salt: parts.tenantSalt }
  return {
    digest: jsonDigest(salted, parts.crypto),
    kind: 'reason',
    name: ending.code,
    value: salted,
  }
}

function reasonOf(ending: Ending): { readonly [name: string]: Plain } | null {
  if (ending.kind === 'refused') {
    const { reason } = ending
    return {
      code: ending.code,
      ...(reason.constraint === undefined ? {} : { constraint: reason.constraint }),
      ...(reason.policy_ids === undefined ? {} : { policy_ids: reason.policy_ids }),
      ...(reason.threshold === undefined ? {} : { threshold: reason.threshold }),
      ...(reason.observed === undefined ? {} : { observed: reason.observed }),
      ...(reason.detail === undefined ? {} : { detail: reason.detail }),
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
  if (ending.kind === 'refused') return ending.known.evidence ?? []
  const { observation, held } = ending.dispatched
  const out: EvidencePart[] = []
  const sha256 = (bytes: Uint8Array): string => hex(parts.crypto.sha256(bytes))
  out.push(...responsePart(ending.known, observation, held, sha256))
  if (observation.kind === 'sent' && observation.partial !== undefined) {
    out.push(
      saltedPart(
        'observation',
        'partial',
        { ...observation.partial, status: observation.status ?? null },
        parts,
      ),
    )
  }
  return out
}

/** Nothing sent: grant, key and budget go back (DESIGN §3). */
function settlementOf(
  ending: Ending,
  capsule: Capsule,
  after: readonly EvidencePart[],
): Settlement | null {
  if (ending.kind === 'refused') return null
  if (ending.dispatched.observation.kind === 'not_sent') return { kind: 'release' }
  return {
    kind: 'commit',
    capsuleId: capsule.capsule_id,
    replayable: after.some(({ kind }) => kind === 'response'),
  }
}

/** The COSE statement taken apart, bit-exact: 18([protected, {}, JCS(capsule), signature]) (DESIGN §5). */
export function capsuleEntry(
  capsule: Capsule,
  settlement: Settlement | null,
  statement: 'agent_action' | 'outcome' = 'agent_action',
  sub?: string,
  about: About | null = null,
): CapsuleEntry {
  const more = {
    ...(settlement === null ? {} : { settles: settlesOf(capsule.action_id, settlement) }),
    ...(about === null ? {} : { about }),
  }
  return {
    type: 'CAPSULE',
    seal: toSeal(capsule, statement, sub),
    json: JSON.stringify(more),
    members: { statement, capsule, ...more },
  }
}

function aboutOf({ kind, known }: Ending): About | null {
  const { identified, rule, requestDigest } = known
  if (kind !== 'refused' || identified.kind === 'unknown') return null
  return {
    agent: identified.agent,
    ...(rule === undefined ? {} : { tool: rule.tool }),
    ...(requestDigest === undefined ? {} : { request_digest: requestDigest }),
  }
}

const settlesOf = (action_id: string, settlement: Settlement): Settles =>
  settlement.kind === 'release'
    ? { action_id, outcome: 'release', replayable: false }
    : { action_id, outcome: 'commit', replayable: settlement.replayable }
