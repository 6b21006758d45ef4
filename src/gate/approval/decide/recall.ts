import type { Bounds } from '../../../core/approval/bounds.js'
import { HumanDecision } from '../../../core/capsule/human.js'
import type { By } from '../../../core/capsule/input.js'
import { verifyEvent } from '../../../core/journal/event.js'
import { bounds } from '../../../core/journal/lines/approval.js'
import {
  anyText,
  digest,
  list,
  type Of,
  oneOf,
  only,
  optional,
  read,
  record,
  text,
} from '../../../core/json/shape.js'
import type { Approval, Vote } from '../../../ports/state.js'
import type { Parts, Run } from '../../context.js'
import { saltedPart } from '../../evidence/parts.js'
import { assentTo } from './model.js'

/** A vote as the evidence store keeps it. */
const voteEvidence = record({
  vote: only('gate.vote/v1'),
  approval_id: text,
  on: digest,
  document_digest: digest,
  name: text,
  by: oneOf('person', 'machine'),
  roles: optional(list(anyText)),
  assurance: oneOf('L1', 'L2', 'L3'),
  via: anyText,
  outcome: oneOf('approve', 'deny', 'defer'),
  reason: optional(anyText),
  bounds: optional(bounds),
  salt: text,
})
type VoteEvidence = Of<typeof voteEvidence>

type RecalledVote = { readonly vote: Vote; readonly kept: VoteEvidence }
export type Recalled = { readonly run: Run; readonly bounds: readonly Bounds[] }

/**
 * By whose decision an approved call runs. Nothing is taken from memory: each vote's signature is checked
 * again, its evidence must be the one it names, and enough distinct voters must remain. Null when that
 * cannot be shown any more (promise 4).
 */
export async function recallRun(approval: Approval, parts: Parts): Promise<Recalled | null> {
  const votes: RecalledVote[] = []
  for (const vote of approval.votes) {
    const kept = await recallVote(approval, vote, parts)
    if (kept === null) return null
    votes.push({ vote, kept })
  }
  const people = votes.filter(({ vote }) => vote.by === 'person')
  const machine = votes.find(({ vote }) => vote.by === 'machine')
  // By name: a vote from before an upgrade has another pseudonym of the same person.
  const enough = new Set(people.map(({ kept }) => kept.name)).size >= approval.hitl.quorum
  const last = people.at(-1)
  const by: By | null =
    enough && last !== undefined
      ? { kind: 'human', decision: decisionOf(approval, last) }
      : machine !== undefined && approval.hitl.quorum === 1
        ? { kind: 'grant', authority: machine.vote.voter }
        : null
  if (by === null) return null
  const within = votes.flatMap(({ kept }) => (kept.bounds === undefined ? [] : [kept.bounds]))
  const part = saltedPart(
    'approval',
    'decision',
    {
      constraint: 'dev.capsulegate.approval',
      approval_id: approval.approvalId,
      document_digest: approval.documentDigest,
      votes: votes.map(({ vote }) => vote.evidenceDigest),
      bounds: within,
    },
    parts,
  )
  return { run: { by, part }, bounds: within }
}

async function recallVote(
  approval: Approval,
  vote: Vote,
  parts: Parts,
): Promise<VoteEvidence | null> {
  const { line } = vote
  const signedByUs =
    line.origin === parts.journal.origin && verifyEvent(line, parts.keys(), parts.crypto).ok
  if (!signedByUs || line.document_digest !== approval.documentDigest) return null
  const found = await parts.evidence.byDigest(vote.evidenceDigest)
  const got = found.state === 'present' ? read(voteEvidence, found.value.value) : null
  if (got === null || !got.ok) return null
  const kept = got.value
  const same =
    kept.approval_id === approval.approvalId &&
    kept.on === approval.parent &&
    kept.document_digest === approval.documentDigest &&
    kept.outcome === vote.outcome &&
    kept.by === vote.by &&
    parts.tenant.isVoter(vote.voter, kept.name)
  return same ? kept : null
}

function decisionOf(approval: Approval, { vote, kept }: RecalledVote): HumanDecision {
  const { name: approver, assurance } = kept
  const { at } = vote.line
  const assent = { ...assentTo(approval), approver, assurance, outcome: 'approve', at } as const
  return HumanDecision.authenticated(assent)
}
