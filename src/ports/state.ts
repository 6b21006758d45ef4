import type { Bounds } from '../core/approval/bounds.js'
import type { OnExpiry } from '../core/approval/deadline.js'
import type { OpenItem } from '../core/capsule/open-item.js'
import type { VerdictClass } from '../core/capsule/registries.js'
import type { LineOf } from '../core/journal/vocabulary.js'
import type { Claim } from '../core/manifest/constraint/claims.js'
import type { Hitl } from '../core/manifest/model.js'

export type BudgetClaim = Claim
export type BudgetReading = {
  readonly constraint: string
  readonly prior: string
  readonly within: boolean
}
export type ReserveRequest = {
  readonly actionId: string
  readonly operator: string
  readonly agent: string
  readonly requestDigest: string
  readonly at: number
  /** Hex SHA-256 of the Idempotency-Key, as ACTION_DISPATCHED carries it. */
  readonly key: string | null
  readonly grant: string | null
  /** The approval that this call closes when it ends: no other action may supersede its capsule meanwhile. */
  readonly item: { readonly approvalId: string; readonly parent: string } | null
  readonly budgets: readonly BudgetClaim[]
}
export type KeyState = { readonly actionId: string; readonly requestDigest: string } & (
  | { readonly state: 'in_flight' | 'unknown' }
  | { readonly state: 'completed'; readonly capsuleId: string }
)
export type Reservation = {
  readonly kind: 'reserved'
  readonly actionId: string
  readonly readings: readonly BudgetReading[]
}
export type Conflict =
  | { readonly kind: 'budget'; readonly readings: readonly BudgetReading[] }
  | { readonly kind: 'key'; readonly holder: KeyState }
  /** The agent has as many keys as one may have; a key it holds already is `key`. */
  | { readonly kind: 'keys_exhausted' }
  | { readonly kind: 'grant'; readonly why: 'spent' | 'expired' | 'unknown' | 'mismatch' }
  /** The approval moved on, or another action holds it. */
  | { readonly kind: 'item' }

/** A decider's vote as the journal has it; the decider's name is in the evidence. */
export type Vote = {
  /** HMAC of the decider's name: the same person is the same voter. */
  readonly voter: string
  readonly by: 'person' | 'machine'
  readonly outcome: 'approve' | 'deny' | 'defer'
  readonly evidenceDigest: string
  /** The signed line itself, because its signature is checked on every use of the vote (promise 4). */
  readonly line: LineOf<'APPROVAL_VOTED'>
}
/** One request to a human, as the lines so far established it. */
export type Approval = {
  /** Also the decision_id of all that comes of it, and the action_id of the call that opened it. */
  readonly approvalId: string
  readonly operator: string
  readonly agent: string
  readonly developer: string
  readonly tool: string
  readonly requestDigest: string
  readonly policyDigest: string
  readonly manifestDigest: string
  readonly documentDigest: string
  readonly openedAt: string
  readonly hitl: Hitl
  /** Its step of the ladder; 0 is before the first escalation. */
  readonly rung: number
  /** The capsule that opened it, and the one that the next capsule supersedes. */
  readonly opened: string
  readonly parent: string
  readonly deadline: { readonly at: string; readonly onExpiry: OnExpiry }
  /** Votes on the current parent: a deferral or an escalation starts a new count. */
  readonly votes: readonly Vote[]
  /** The vote that made the current parent, or closed it; null where no decider did. */
  readonly decided: Vote | null
  readonly reminded: number
  /** Which call it asks about, however it is spelt (HMAC); null on lines of 0.1. */
  readonly callIdentity: string | null
  /** The session whose step the call is; absent where it is of none. */
  readonly sessionId?: string
  /** `session`: decided is whether the session goes on; `call`: the session waits for this call. */
  readonly holds?: 'session' | 'call'
  /** Until when a person's refusal stands: no human is asked again before. Null where none stands. */
  readonly refusedUntil: string | null
  readonly state:
    | { readonly kind: 'pending' }
    | { readonly kind: 'approved'; readonly grant: string }
    | {
        readonly kind: 'closed'
        readonly actionId: string
        readonly capsuleId: string
        readonly verdict: VerdictClass
        readonly approver: 'human' | 'policy'
      }
}
export type StandingGrant = {
  readonly grant: string
  readonly agent: string
  readonly tool: string
  readonly bounds: Bounds
  readonly expiresAt: string
  readonly usesLeft: number
}
/** The range of lines with blocked items that the state does not hold; some may be closed. */
export type OlderBlocked = { readonly first: number; readonly last: number }
export type BlockedItems = {
  readonly items: readonly OpenItem[]
  /** Null: these are all. */
  readonly older: OlderBlocked | null
}
/** How a tool of an MCP server has to be described, as the lines so far established it. */
export type Pin = {
  readonly server: string
  readonly tool: string
  /** The digest that it is held to: first seen, or accepted by an operator. */
  readonly definition: string
  /** The digest that the server was last seen to describe it by, where that is another; null: none. */
  readonly changed: string | null
}
/** A session of one agent (seed intent-declaration-primitive-01 §4.2), as the lines so far established it. */
export type Session = {
  readonly sessionId: string
  readonly agent: string
  readonly openedAt: string
  /** When it was last used, as the lines say. */
  readonly usedAt: string
  /** The step committed last; 0 before the first. */
  readonly lastStep: number
  /** Declarations that named another mission, since it was opened or resumed. */
  readonly mismatches: number
  /** The commitment gap that stopped it; null: none did, or a person resumed it. */
  readonly gap: string | null
  /** Mandates shown in it. */
  readonly mandates: readonly string[]
  /** What people are asked before it goes on; null: nothing. */
  readonly heldBy: string | null
}
export type CommitRequest = {
  readonly sessionId: string
  readonly agent: string
  /** The mandate's object: ids are unique within it. */
  readonly soId: string
  readonly idpId: string
  readonly step: number
  readonly mandateId: string
  readonly actionId: string
  readonly at: number
}
export type CommitOutcome =
  | {
      readonly kind: 'committed'
      /** The lines that have to say so come first. */
      readonly opens: boolean
      readonly presents: boolean
      /** People are asked something first; what was declared is on record all the same. */
      readonly heldBy: string | null
    }
  /** The action that brought the same id; null where it is no longer known. */
  | { readonly kind: 'duplicate'; readonly actionId: string | null }
  | { readonly kind: 'step'; readonly last: number }
  /** `bound`: another session that is open has its mandate. */
  | { readonly kind: 'session'; readonly why: 'over' | 'idle' | 'foreign' | 'bound' }
export type MismatchRequest = Pick<
  CommitRequest,
  'sessionId' | 'agent' | 'mandateId' | 'actionId' | 'at'
>
export type MismatchOutcome =
  | {
      readonly kind: 'counted'
      readonly opens: boolean
      /** How many since the session was opened or resumed, this one included. */
      readonly mismatches: number
    }
  | Extract<CommitOutcome, { readonly kind: 'session' }>
/** Where a governed object is; null: not known, until an operator says. */
export type ObjectState = {
  readonly state: string | null
  /** Pseudonym of the principal whose mandate changed it last. */
  readonly principal: string | null
}
/** What a call stands on that may end while it is judged. */
export type Standing = {
  /** Null: the call is no step of one, its bearer is identified by the mandate. */
  readonly sessionId: string | null
  readonly mandateId: string
  readonly missionRef: string | null
  /**
   * The object, and the state the call was judged in: null where nothing was on record, `unknown` after an
   * outcome that was not seen (core/intent/object.ts).
   */
  readonly object: { readonly soId: string; readonly state: string | null } | null
}
/** What becomes of an operator's order to open a session; `open`: it is, and of this agent. */
export type SessionOpening = 'opened' | 'open' | 'foreign' | 'over'

export type Claimed =
  | { readonly kind: 'claimed' }
  /** `settled` resolves when the holder has given it up. */
  | { readonly kind: 'held'; readonly by: string; readonly settled: Promise<void> }

export type State = {
  /**
   * One atomic compare-and-set over grant, item, key and budgets; at most once across processes. MUST
   * refuse a new key of an agent that has as many as it may, and MUST NOT forget another one for it.
   */
  reserve(request: ReserveRequest): Promise<Reservation | Conflict>
  /** Commit keeps grant, key and budget spent; release gives all of them back (nothing was sent). */
  settle(actionId: string, outcome: Settlement): Promise<void>
  /** Look-up only; `reserve` takes it. */
  keyState(operator: string, agent: string, key: string): Promise<KeyState | null>
  /**
   * One holder per name, for as long as its line takes to become durable: a capsule id that is to be
   * superseded, or a request that is to be put before a human. MUST be atomic across processes.
   */
  claim(name: string, by: string): Promise<Claimed>
  /**
   * Whether `by` may open one more approval of the agent, and of its session: fewer than `most` are open or about
   * to be. MUST be atomic across processes; `by` counts until its approval is open or it calls `unclaim`.
   */
  claimOpening(
    agent: string,
    by: string,
    most: number,
    session?: { readonly sessionId: string; readonly most: number },
  ): Promise<boolean>
  /**
   * One atomic compare-and-set over the id per object, the step per session, and the session's own state; a
   * session that is not known begins with it. What is committed is so for every other call at once; it MUST
   * be remembered for the lifetime of the object (seed intent-declaration-primitive-01 §8.4).
   */
  commitIntent(request: CommitRequest): Promise<CommitOutcome>
  /**
   * Counts a declaration that named another mission; a session that is not known begins with it. One atomic step, so
   * that of many at once each has its own number. It counts until its line is there or the action calls `unclaim`.
   */
  countMismatch(request: MismatchRequest): Promise<MismatchOutcome>
  /** Takes back a commit whose line could not be written. */
  releaseIntent(actionId: string): Promise<void>
  /** Whether the id was committed for this object, and by which action, as far as that is known. */
  committed(soId: string, idpId: string): Promise<{ readonly actionId: string | null } | null>
  /** No step of the session is sent from here on; the line that says so follows. */
  stopSession(sessionId: string): Promise<void>
  /**
   * Begins a session for an operator; the line that says so follows. MUST be atomic with `commitIntent`: a
   * session has one agent, whoever opens it.
   */
  openSession(sessionId: string, agent: string, at: number): Promise<SessionOpening>
  /** Takes back an opening whose line could not be written. */
  releaseSession(sessionId: string): Promise<void>
  /**
   * Ends a session that is idle at that time: no step is committed in it from here on; the line that says so
   * follows. False: it is not idle, or somebody ends it already. MUST be atomic with `commitIntent`.
   */
  closeIdle(sessionId: string, at: number): Promise<boolean>
  /** When each open session is idle unless it is used before. One that people are asked about never is. */
  idleFrom(): Promise<ReadonlyMap<string, number>>
  /** One that is open. */
  session(sessionId: string): Promise<Session | null>
  /** Those open, oldest first. */
  sessions(): Promise<readonly Session[]>
  /** It was open once, and never will be again. */
  isOver(sessionId: string): Promise<boolean>
  isRevoked(mandateId: string): Promise<boolean>
  /** All that were revoked, by id. */
  revoked(): Promise<readonly string[]>
  /** Missions that are over or suspended, with their phases. */
  missions(): Promise<ReadonlyMap<string, string>>
  /** The phase of a mission that is over or suspended; null: it may go on. */
  mission(missionRef: string): Promise<string | null>
  /** Null: nothing was ever said of the object. */
  object(soId: string): Promise<ObjectState | null>
  /**
   * Whether session, mandate, mission and object still let the call go. MUST NOT throw or wait: it is asked just
   * before the first byte of a call leaves.
   */
  stillStands(on: Standing): boolean
  /** Gives up all that `by` claimed; `settle` does the same for an action. */
  unclaim(by: string): Promise<void>
  /** Closed ones are kept until their deadline, so that a late caller learns how they ended. */
  approval(id: string): Promise<Approval | null>
  /** Those not closed for exactly this request of this agent, newest first: one, and one for each session that waits for it. */
  approvalsFor(agent: string, requestDigest: string): Promise<readonly Approval[]>
  /** How many of the agent's are not closed. */
  openApprovals(agent: string): Promise<number>
  /** Those not closed, oldest first. */
  approvals(): Promise<readonly Approval[]>
  /**
   * The one in which a person refused exactly this call of this agent, if that stands at that time. The identities are
   * all of that call, the present one first; they cost a digest each, and are asked for only where they are needed.
   */
  refusal(
    agent: string,
    callIdentities: () => readonly string[],
    at: number,
  ): Promise<Approval | null>
  /** Standing grants that may be spent now, oldest first. */
  standing(agent: string, tool: string, at: number): Promise<readonly StandingGrant[]>
  /** How the server's tool has to be described; null: it was never described. */
  pin(server: string, tool: string): Promise<Pin | null>
  // What operators read; no call waits for it.
  /** All pins, by server and tool. */
  pins(): Promise<readonly Pin[]>
  /** Approvals that ended and are still known, oldest first. */
  endedApprovals(): Promise<readonly Approval[]>
  /** Standing grants of all agents that may be spent at that time. */
  standingGrants(at: number): Promise<readonly StandingGrant[]>
  /** Whether this is a standing grant that was issued and not revoked, spent or not. */
  isStanding(grant: string): Promise<boolean>
  /** Open items that await a decision (seed §5.4.4), in ledger order. */
  awaiting(): Promise<readonly OpenItem[]>
  /** The newest blocked ones, in ledger order, and where older ones are; both as of one moment. */
  blocked(): Promise<BlockedItems>
  /** Where older blocked ones are, without listing the newest. */
  olderBlocked(): Promise<OlderBlocked | null>
  /** One that `awaiting` or `blocked` lists. */
  openItem(capsuleId: string): Promise<OpenItem | null>
  /** Of declarations: how many ids are remembered, in how many octets of memory, and how many sessions are open. */
  sizes(): { readonly ids: number; readonly bytes: number; readonly open: number }
}
export type Settlement =
  | { readonly kind: 'release' }
  | { readonly kind: 'commit'; readonly capsuleId: string; readonly replayable: boolean }
