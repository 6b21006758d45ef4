import type { ApprovalDocument } from '../core/approval/document.js'
import { readDocument } from '../core/approval/read-document.js'
import type { Agent } from '../core/call/agent.js'
import type { Call, Caller } from '../core/call/call.js'
import type { OpenItem } from '../core/capsule/open-item.js'
import type { LineOf } from '../core/journal/vocabulary.js'
import type { Evidence, EvidencePart, Found } from '../ports/evidence.js'
import type { Journal } from '../ports/journal.js'
import type { Approval, StandingGrant, State } from '../ports/state.js'
import { type OwnAction, ownAction } from './answer/own-action.js'
import { blockedAfter } from './approval/open-items.js'
import type { Parts, World } from './context.js'
import { type AbsentEvidence, absentEvidence, findEvidence, knownDue } from './evidence/find.js'
import type { EvidenceWatch } from './evidence/watch.js'
import { type ActionLines, findAction } from './find-action.js'
import {
  type NoTransitions,
  type OpenTransitions,
  openTransitions,
} from './intent/advice/open-transitions.js'
import { bearsRevoked } from './intent/declare/read-mandate.js'
import { type IntentPage, type IntentQuery, readIntents } from './intent/read-intents.js'
import { type Check, checksOf, watchVerification } from './operate/checks.js'

export type ShownDocument =
  | { readonly state: 'present'; readonly document: ApprovalDocument }
  | { readonly state: 'erased' | 'missing' | 'damaged' }

/** What mounts may read of a gate, all of it through ports. */
export type Read = Pick<
  State,
  | 'approval'
  | 'approvals'
  | 'endedApprovals'
  | 'awaiting'
  | 'isStanding'
  | 'pin'
  | 'pins'
  | 'session'
  | 'sessions'
  | 'isOver'
  | 'object'
  | 'missions'
  | 'revoked'
  | 'sizes'
> &
  Pick<Journal, 'head' | 'lines'> &
  Pick<Parts, 'halts' | 'keys' | 'subscribe'> & {
    action(id: string): Promise<ActionLines | null>
    /** As the agent it belongs to may see it; null for all others. */
    ownAction(id: string, agent: string): Promise<OwnAction | null>
    /** Whether the caller's credential is a mandate that was revoked. */
    bearsRevoked(caller: Caller): Promise<boolean>
    /** What is open to the holder of the mandate that is shown; told to nobody else. */
    openTransitions(
      asked: Pick<Call, 'caller' | 'declared'>,
      agent: Agent,
    ): Promise<OpenTransitions | NoTransitions>
    capsule(capsuleId: string): Promise<LineOf<'CAPSULE'> | null>
    capsules: Journal['list']
    /** What people are or were shown, as it was frozen. */
    document(approval: Pick<Approval, 'documentDigest'>): Promise<ShownDocument>
    hasVoted(name: string, approval: Pick<Approval, 'votes'>): boolean
    /** Blocked ones behind a line, in ledger order. */
    blocked(after: number, size: number): Promise<readonly OpenItem[]>
    standingGrants(): Promise<readonly StandingGrant[]>
    /** A manifest, a policy set or the definition of a tool; null where it is not there. */
    publicDocument: Evidence['getPublic']
    /** What judges calls right now. */
    judges(): World
    /** Of an action, or the one part with that digest. */
    evidence(id: string): Promise<Found<readonly EvidencePart[]>>
    /** What must have evidence of an action, or of a digest itself, and has none. */
    absentEvidence(id: string): Promise<readonly AbsentEvidence[]>
    /** What agents declared. */
    intents(query: IntentQuery): Promise<IntentPage>
    checks(): readonly Check[]
    /** Of older segments, which are verified in the background. */
    verification(): Check
    /** Of the evidence that lines must have, which is compared in the background. */
    evidenceRecords(): Check
    evidenceAbsent: EvidenceWatch['absent']
    /** Whether a record can be written at this moment. */
    canRecord(): boolean
  }

export function createRead(parts: Parts, watch: EvidenceWatch): Read {
  const { journal, state, evidence } = parts
  return {
    action: (id) => findAction(id, parts),
    ownAction: (id, agent) => ownAction(id, agent, parts),
    bearsRevoked: (caller) => bearsRevoked(caller, parts),
    openTransitions: (asked, agent) => openTransitions(asked, agent, parts),
    async capsule(capsuleId) {
      const lines = await journal.find(capsuleId)
      return lines.find((line) => line.type === 'CAPSULE') ?? null
    },
    capsules: (filter, page) => journal.list(filter, page),
    approval: (id) => state.approval(id),
    approvals: () => state.approvals(),
    endedApprovals: () => state.endedApprovals(),
    async document({ documentDigest }) {
      const found = await evidence.byDigest(documentDigest)
      if (found.state !== 'present') return { state: found.state }
      const document = readDocument(found.value.value)
      return document === null ? { state: 'damaged' } : { state: 'present', document }
    },
    hasVoted: (name, { votes }) => votes.some(({ voter }) => parts.tenant.isVoter(voter, name)),
    awaiting: () => state.awaiting(),
    blocked: (after, size) => blockedAfter(after, size, parts),
    standingGrants: () => state.standingGrants(parts.clock.now()),
    isStanding: (grant) => state.isStanding(grant),
    pin: (server, tool) => state.pin(server, tool),
    pins: () => state.pins(),
    session: (id) => state.session(id),
    sessions: () => state.sessions(),
    isOver: (id) => state.isOver(id),
    object: (soId) => state.object(soId),
    missions: () => state.missions(),
    revoked: () => state.revoked(),
    sizes: () => state.sizes(),
    publicDocument: (digest) => evidence.getPublic(digest),
    halts: parts.halts,
    judges: parts.world,
    evidence: (id) => findEvidence(id, evidence),
    absentEvidence: async (id) =>
      absentEvidence(await knownDue(id, parts), evidence, watch.erasure),
    intents: (query) => readIntents(query, parts),
    keys: parts.keys,
    head: () => journal.head(),
    lines: (from) => journal.lines(from),
    subscribe: parts.subscribe,
    checks: () => checksOf(parts),
    verification: watchVerification(parts),
    evidenceRecords: watch.check,
    evidenceAbsent: watch.absent,
    canRecord: () => journal.health().ok && evidence.health().ok,
  }
}
