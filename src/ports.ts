import type { Bounds } from './core/approval/bounds.js'
import type { OnExpiry } from './core/approval/deadline.js'
import type { Agent } from './core/call/agent.js'
import type { Caller, Header, ReadCall } from './core/call/call.js'
import type { Observation } from './core/capsule/observation.js'
import type { OpenItem } from './core/capsule/open-item.js'
import type { VerdictClass } from './core/capsule/registries.js'
import type { Entry, Sealed } from './core/journal/entry.js'
import type { SignedHead } from './core/journal/head.js'
import type { JournalLine, Line, LineOf } from './core/journal/vocabulary.js'
import type { Plain } from './core/json/value.js'
import type { Hitl, ToolRule } from './core/manifest/model.js'

/** The gate's outside world. Each port is a few methods and a promise; test/contract holds drivers to it. */

// ── Clock and ids ────────────────────────────────────────────────────────────
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds, for deadlines in between. */
  monotonic(): number
}
export type Timer = {
  /** Runs once, not before `ms` monotonic milliseconds, maybe later; the answer calls it off. */
  after(ms: number, run: () => void): () => void
}
export type Ids = {
  /** UUIDv7; MUST be unique and MUST NOT be guessable from earlier ones. */
  actionId(): string
  random(bytes: number): Uint8Array
}

// ── Journal ──────────────────────────────────────────────────────────────────
export type { JournalLine, Line }
/** Only the vocabulary's own entries can be appended (core/journal/entry.ts). */
export type JournalEntry = Entry
/** Lines that are found by the ids they name. */
export type IndexedLine = LineOf<'CAPSULE' | 'ACTION_DISPATCHED'>
/** A line of the journal: its number, and its leaf hash, which the next line links to. */
export type Head = { readonly seq: number; readonly hash: string }
/** The signed head that ends a batch: the place of its own line, and what it says of all lines before. */
export type CoveringHead = Head & { readonly signed: SignedHead }
export type Appended = Head & {
  readonly prev: string
  readonly at: string
  readonly head: CoveringHead
  readonly sealed?: Sealed
}

/** What a capsule must be to be listed; a member that is not given is any. */
export type CapsuleFilter = {
  readonly verdict?: string | undefined
  /** Of the line's `about`, else of the dispatch that it concludes. */
  readonly tool?: string | undefined
  /** As `tool`; a capsule with neither is found by its developer's name. */
  readonly agent?: string | undefined
  /** Its decision_id, or its action_id where it has none. */
  readonly decision?: string | undefined
  /** RFC 3339, both included; the line's own time counts. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}
/** Newest first before a line (null: from the head on), or oldest first after a line (0: from the start). */
export type CapsulePage =
  | { readonly before: number | null; readonly limit: number }
  | { readonly after: number; readonly limit: number }
/** A driver gives lines as they stand in the file; the gate's own journal has read them. */
export type CapsuleEntry<L = LineOf<'CAPSULE'>> = {
  readonly seq: number
  readonly at: string
  /** Of the line's `about` or its dispatch; null where there is neither. */
  readonly agent: string | null
  readonly tool: string | null
  readonly line: L
}
export type CapsuleList<L = LineOf<'CAPSULE'>> = {
  readonly entries: readonly CapsuleEntry<L>[]
  /** The next page's `before` or `after`; null when there is no further match. */
  readonly next: number | null
}

export type Journal = {
  readonly origin: string
  /**
   * MUST NOT resolve before all the lines are durable, totally ordered and covered by a signed head; entries of
   * one call MUST be adjacent. MUST reject, leaving no part of them behind for a later reader, if they cannot be written.
   * MUST accept `urgent` entries (conclusions of calls already dispatched) out of the preallocated
   * reserve when the disk is full.
   */
  append(
    entries: readonly JournalEntry[],
    options?: { urgent?: boolean },
  ): Promise<readonly Appended[]>
  /** The timestamp the next line may carry: now, but never before the last line's. */
  timestamp(): string
  /** The last line, which is a head or a seal; number 0 before the first. */
  head(): Head
  /** Lines with seq ≥ from, in order, as parsed; checks linkage as it reads, members are `readLine`'s. */
  lines(from?: number): AsyncIterable<JournalLine>
  /**
   * By action_id or capsule_id, newest first; uses the segment indexes. `superseding` adds the capsules
   * that supersede that one.
   */
  find(id: string, options?: { superseding?: boolean }): Promise<readonly IndexedLine[]>
  /**
   * CAPSULE lines by what they say, page by page. MUST be complete: a page has `limit` entries, or `next`
   * is null, or the line after it was archived. MUST give no line whose members do not match or that is
   * not the one its successor links to. MUST NOT read more than the lines it returns, their dispatches,
   * one match beyond them and the index rows of the segments it passes. MUST reject when the page's first
   * match was archived, and pass archived segments that hold no match.
   */
  list(filter: CapsuleFilter, page: CapsulePage): Promise<CapsuleList>
  /** MUST refuse before dispatch while below the reserve: `ok: false` names why. */
  health(): { readonly ok: boolean; readonly reason: string | null }
  /**
   * Settles when every line's own signature was checked and every closed segment read whole, behind the running
   * gate; MUST NOT reject.
   */
  readonly verified: Promise<Verified>
  close(): Promise<void>
}
export type Verified = {
  readonly segments: number
  readonly lines: number
  /** Segments that are not here; their signed seals are. */
  readonly archived: readonly string[]
  readonly damage: string | null
}

// ── Evidence ─────────────────────────────────────────────────────────────────
export type EvidencePart = {
  /** JSON-DIGEST of `value`, or SHA-256 of `bytes`: what the capsule commits to. */
  readonly digest: string
  readonly kind:
    | 'constraint'
    | 'cedar'
    | 'reason'
    | 'request'
    | 'response'
    | 'approval'
    | 'vote'
    | 'intent'
    | 'dispatch'
    | 'subject'
    | 'frozen'
    | 'observation'
    /** Who used the gate's controls: halted, resumed, erased. */
    | 'actor'
  readonly name?: string
  /** What is kept: a JSON value, as one or as its JCS(normalize(value)), or octets. */
  readonly value?: Plain
  readonly text?: string
  readonly bytes?: Uint8Array
}
export type EvidenceRecord = {
  readonly actionId: string
  readonly operator: string
  /** When named, the record is sealed under this subject's key and goes when the subject is erased. */
  readonly subject: string | null
  readonly at: string
  readonly parts: readonly EvidencePart[]
}
export type Found<T> =
  | { readonly state: 'present'; readonly value: T }
  | { readonly state: 'erased' }
  | { readonly state: 'missing' }
  /** Something stands there that no longer is what was put: never handed out as if it were. */
  | { readonly state: 'damaged'; readonly detail: string }

/** What the index of the store says of a digest, without its record being read. */
export type InIndex =
  | { readonly state: 'present' }
  /** `key` is the id of the key that is gone; a journal line names it if it was erased on purpose. */
  | { readonly state: 'erased'; readonly key: string }
  | { readonly state: 'missing' }
  | { readonly state: 'damaged'; readonly detail: string }

export type ErasureScope =
  | { readonly subject: string }
  | { readonly operator: string; readonly day: string }

export type Evidence = {
  /**
   * MUST be durable before it resolves, and MUST have handed its bytes to the kernel before the bytes
   * of any journal line appended after it, so that after kill -9 evidence precedes the capsule that
   * commits to it. MUST refuse a
   * part whose digest is not its own. MUST accept `urgent` records (conclusions of calls already
   * dispatched) out of the reserve when the disk is full.
   */
  put(record: EvidenceRecord, options?: { urgent?: boolean }): Promise<void>
  /** All parts of all the action's records, oldest first; those erased are left out while others remain. */
  byAction(actionId: string): Promise<Found<readonly EvidencePart[]>>
  byDigest(digest: string): Promise<Found<EvidencePart>>
  /** One answer per digest, in order. MUST NOT read or open records: whole journals are compared with it. */
  inIndex(digests: readonly string[]): Promise<readonly InIndex[]>
  /** Manifest and policy-set bytes by digest: public to auditors, never erased. */
  putPublic(digest: string, bytes: Uint8Array): Promise<void>
  getPublic(digest: string): Promise<Uint8Array | null>
  /** The id of the key that erasing would destroy; null where nothing was sealed under that scope. */
  keyOf(scope: ErasureScope): Promise<string | null>
  /** Digest of the names of all records under that key (`sealedNames` of core/evidence), live or erased. */
  namesUnder(key: string): Promise<string>
  /** Destroys the key; MUST leave digests intact. Returns how many records went dark. */
  erase(scope: ErasureScope): Promise<number>
  health(): { readonly ok: boolean; readonly reason: string | null }
  close(): Promise<void>
}

// ── Signer ───────────────────────────────────────────────────────────────────
export type SigningPurpose = 'statement' | 'event' | 'webhook'
export type Signer = {
  /** Raw 32-byte kid of the current key of that purpose (RFC 9679 thumbprint). */
  kid(purpose: SigningPurpose): Uint8Array
  /** Ed25519. MUST refuse a retired key. */
  sign(purpose: SigningPurpose, message: Uint8Array): Uint8Array
}

// ── Tenant ───────────────────────────────────────────────────────────────────
/**
 * What the gate does with the tenant's secret; it never sees the secret itself. Each function MUST have a key
 * of its own, derived from it (core/tenant-uses.ts), so that no value one of them gives away helps to guess
 * what another hid (seed §13). Digests are HMAC-SHA-256, lowercase hex.
 */
export type TenantKeys = {
  /** A decider or operator as a line may name them: the same name has the same pseudonym. */
  voter(name: string): string
  /** Whether a line's pseudonym is this name's, in the form of now or of an older journal. */
  isVoter(pseudonym: string, name: string): boolean
  /** Whose evidence was erased, as a line may say it. */
  subjectTag(subject: string): string
  /** Of a reason's JCS: equal reasons have equal salts (seed agent-action-capsule-01 §5.4). */
  reasonSalt(reason: string): string
  callIdentity(call: string): string
  sourceHash(address: string): string
  passThroughSalt(request: string): string
  /** For tools with `digest_salt: tenant`. */
  requestOctets(octets: Uint8Array): string
  requestSalt(request: string): string
  responseOctets(): OctetsDigest
  /** Of a scope's plain digest, as lines and the state name it. */
  budgetScope(scope: string): string
  readonly amounts: Sealing
  readonly bounds: Sealing
  readonly snapshot: Sealing
  readonly older: OlderForms
}
/** Texts encrypted for one place: a sealed text MUST NOT open at any other. White space at the end is not kept. */
export type Sealing = {
  seal(text: string, place: string): string
  /** Null for what this key did not seal for this place. */
  open(sealed: string, place: string): string | null
}
/** What an older gate wrote, to be compared with and never to be written again. */
export type OlderForms = {
  voter(name: string): string
  callIdentity(call: string): string
  requestOctets(octets: Uint8Array): string
  requestDigest(request: { readonly [name: string]: Plain }): string
}

// ── Policy ───────────────────────────────────────────────────────────────────
/** Values as Cedar wants them, built by us from typed arguments: never an agent's own `__entity` or `__extn`. */
export type CedarValue =
  | string
  | boolean
  | number
  | { readonly __extn: { readonly fn: string; readonly arg: string } }
  | readonly CedarValue[]
  | { readonly [name: string]: CedarValue }

export type PolicyRequest = {
  readonly principal: string
  readonly roles: readonly string[]
  readonly developer: string
  readonly action: string
  readonly resource: string
  readonly irreversibility: string
  readonly args: { readonly [name: string]: CedarValue }
  readonly approval: { readonly granted: boolean }
}
export type PolicyDecision =
  | {
      readonly kind: 'permit'
      readonly policies: readonly string[]
      readonly observed: readonly ObservedPolicy[]
      readonly request: Plain
    }
  | {
      readonly kind: 'deny'
      readonly policies: readonly string[]
      readonly observed: readonly ObservedPolicy[]
      readonly request: Plain
      readonly reason: string | null
    }
  /** Denied only by policies that ask for a human, and an approval would lift it (what-if run). */
  | {
      readonly kind: 'ask'
      readonly policies: readonly string[]
      readonly observed: readonly ObservedPolicy[]
      readonly request: Plain
      readonly reason: string | null
    }
  | {
      readonly kind: 'error'
      readonly errorClass: string
      readonly detail: string
      readonly request: Plain
    }
/** A policy in observe mode that would have changed the decision. */
export type ObservedPolicy = { readonly id: string; readonly would: 'permit' | 'deny' | 'ask' }

export type PolicyEngine = {
  /** SHA-256 over the loaded set, hex; changes exactly when the set does. */
  readonly digest: string
  readonly policyIds: readonly string[]
  /** MUST return an error value, never permit, when any policy errored or the schema was not applied. MUST NOT throw. */
  decide(request: PolicyRequest): PolicyDecision
}

// ── State ────────────────────────────────────────────────────────────────────
export type BudgetClaim = {
  readonly constraint: string
  /** Scope key: a keyed digest (`budgetScope`). */
  readonly scope: string
  readonly windowSeconds: number
  readonly kind: 'count' | 'sum' | 'dedupe'
  /** Exact decimal; `"1"` for counts. */
  readonly amount: string
  /** Exact decimal; for dedupe `"1"`. */
  readonly max: string
  /** Observe mode: record the total, never refuse. */
  readonly advisory: boolean
}
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
  /** The approval this call closes when it ends: nobody else may supersede its capsule meanwhile. */
  readonly item: { readonly approvalId: string; readonly parent: string } | null
  readonly budgets: readonly BudgetClaim[]
}
export type KeyState =
  | {
      readonly state: 'in_flight' | 'unknown'
      readonly actionId: string
      readonly requestDigest: string
    }
  | {
      readonly state: 'completed'
      readonly actionId: string
      readonly capsuleId: string
      readonly requestDigest: string
    }
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
  /** The approval moved on, or somebody is about to move it. */
  | { readonly kind: 'item' }

/** A decider's vote as the journal has it; who it was stands in the evidence. */
export type Vote = {
  /** HMAC of the decider's name: the same person is the same voter. */
  readonly voter: string
  readonly by: 'person' | 'machine'
  readonly outcome: 'approve' | 'deny' | 'defer'
  readonly evidenceDigest: string
  /** The signed line itself: whoever builds on the vote checks the signature again (promise 4). */
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
  /** How far up the ladder it is; 0 is who was asked first. */
  readonly rung: number
  /** The capsule that opened it, and the one that whatever comes next supersedes. */
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
  /** A person said no: until then nobody is asked again. Null where no refusal stands. */
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
/** Between which lines blocked items stand that the state does not hold, closed ones among them. */
export type OlderBlocked = { readonly first: number; readonly last: number }
export type BlockedItems = {
  readonly items: readonly OpenItem[]
  /** Null: these are all. */
  readonly older: OlderBlocked | null
}
export type Claimed =
  | { readonly kind: 'claimed' }
  /** `settled` resolves when the holder has let go. */
  | { readonly kind: 'held'; readonly by: string; readonly settled: Promise<void> }

export type State = {
  /**
   * One atomic compare-and-set over grant, item, key and budgets; at most once across processes. MUST
   * refuse a new key of an agent that has as many as it may, and MUST NOT forget another one for it.
   */
  reserve(request: ReserveRequest): Promise<Reservation | Conflict>
  /** Commit keeps grant, key and budget spent; release gives all of them back (nothing was sent). */
  settle(actionId: string, outcome: Settlement): Promise<void>
  /** Look-up only; the claim is made at `reserve`. */
  keyState(operator: string, agent: string, key: string): Promise<KeyState | null>
  /**
   * One holder per name, for as long as its line takes to become durable: a capsule id that is to be
   * superseded, or a request that is to be put before a human. MUST be atomic across processes.
   */
  claim(name: string, by: string): Promise<Claimed>
  /**
   * Whether `by` may open one more approval of the agent: fewer than `most` are open or about to be.
   * MUST be atomic across processes; the place is `by`'s until its approval is open or it lets go.
   */
  claimOpening(agent: string, by: string, most: number): Promise<boolean>
  /** Lets go of all that `by` claimed; `settle` does the same for an action. */
  unclaim(by: string): Promise<void>
  /** Closed ones are known until their deadline, so that a late caller hears how it ended. */
  approval(id: string): Promise<Approval | null>
  /** The one that is not closed for exactly this request of this agent. */
  approvalFor(agent: string, requestDigest: string): Promise<Approval | null>
  /** How many of the agent's are not closed. */
  openApprovals(agent: string): Promise<number>
  /** Those not closed, oldest first. */
  approvals(): Promise<readonly Approval[]>
  /** The one in which a person refused exactly this call of this agent, if that stands at that time. */
  refusal(agent: string, callIdentity: string, at: number): Promise<Approval | null>
  /** Standing grants that may be spent now, oldest first. */
  standing(agent: string, tool: string, at: number): Promise<readonly StandingGrant[]>
  // What operators read; no call waits for it.
  /** Approvals that ended and are still known, oldest first. */
  endedApprovals(): Promise<readonly Approval[]>
  /** Standing grants of all agents that may be spent at that time. */
  standingGrants(at: number): Promise<readonly StandingGrant[]>
  /** Whether this is a standing grant that was issued and not revoked, spent or not. */
  isStanding(grant: string): Promise<boolean>
  /** Open items that await a decision (seed §5.4.4), in ledger order. */
  awaiting(): Promise<readonly OpenItem[]>
  /** The newest blocked ones, in ledger order, and where older ones stand; both as of one moment. */
  blocked(): Promise<BlockedItems>
  /** Where older blocked ones stand, without listing the newest. */
  olderBlocked(): Promise<OlderBlocked | null>
  /** One that `awaiting` or `blocked` lists. */
  openItem(capsuleId: string): Promise<OpenItem | null>
}
export type Settlement =
  | { readonly kind: 'release' }
  | { readonly kind: 'commit'; readonly capsuleId: string; readonly replayable: boolean }

// ── Identity ─────────────────────────────────────────────────────────────────
export type Identified = Agent | { readonly kind: 'unknown'; readonly why: string }

export type Identity = {
  /** MUST answer `unknown`, never throw, for anything it cannot prove. */
  identify(caller: Caller): Promise<Identified> | Identified
  /**
   * Whether this agent would still be let in with all the roles it had: MUST be false once one of its
   * credentials was revoked or names another agent, or, where it has none, once no token or certificate
   * names it. MUST NOT throw or wait: it is asked just before the first byte of a call leaves.
   */
  isStillKnown(agent: Extract<Identified, { kind: 'known' }>): boolean
}

// ── Dispatch ─────────────────────────────────────────────────────────────────
/**
 * The mount's way to send the call. It MUST NOT send anything before it is called, MUST send exactly
 * the frozen bytes, and MUST call `stillAllowed` just before the first byte: false means that it may
 * not leave, and the observation is `not_sent` with cause `withdrawn`.
 */
export type Dispatch = (order: DispatchOrder) => Promise<Dispatched>
export type DispatchOrder = {
  readonly actionId: string
  /** The call as it was judged: these octets to this upstream, and nothing else, may be sent. */
  readonly call: ReadCall
  /** The rule the call was judged under: deadlines, forwarded headers, success, release. */
  readonly rule: ToolRule
  readonly stillAllowed: () => boolean
  /**
   * How the response's octets are digested: null is SHA-256; a tool with `digest_salt: tenant` has an HMAC
   * under a secret that the mount does not get (seed §13).
   */
  readonly saltedDigest: (() => OctetsDigest) | null
}
/** The digest of octets as they pass; `digest` is called once, at the end. */
export type OctetsDigest = {
  update(octets: Uint8Array): void
  /** Lowercase hex. */
  digest(): string
}
export type Dispatched = {
  readonly observation: Observation
  /** The whole response, when it was held: kept for replay and for `capture: full`. */
  readonly held: HeldResponse | null
}
export type HeldResponse = {
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}
