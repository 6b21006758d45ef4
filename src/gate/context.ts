import type { Agent } from '../core/call/agent.js'
import type { Call, ReadCall } from '../core/call/call.js'
import type { By } from '../core/capsule/input.js'
import type { Capsule, ConstraintRecord, Mode, Octets } from '../core/capsule/model.js'
import type { Crypto } from '../core/crypto/crypto.js'
import type { Committed, Mandate } from '../core/intent/model.js'
import type { SignedHead } from '../core/journal/head.js'
import type { Hitl, Manifest, ObjectModel, ToolRule } from '../core/manifest/model.js'
import type { LoadedManifest, Router } from '../core/manifest/route/match.js'
import type { Args, NotJudged, NotRead } from '../core/manifest/route/read-result.js'
import type { PublicKeyRecord } from '../core/statement/keys.js'
import type { Clock, Ids, Timer } from '../ports/clock.js'
import type { Evidence, EvidencePart } from '../ports/evidence.js'
import type { Identified, Identity, Mandates } from '../ports/identity.js'
import type { Journal, Line } from '../ports/journal.js'
import type { OneTimeEncryption } from '../ports/one-time.js'
import type { PolicyDecision, PolicyEngine } from '../ports/policy.js'
import type { Signer } from '../ports/signer.js'
import type { Approval, BudgetClaim, BudgetReading, State } from '../ports/state.js'
import type { TenantKeys } from '../ports/tenant.js'
import type { Ending, Refused } from './govern/exit.js'
import type { Advice } from './intent/advice/advice.js'
import type { Halts } from './operate/halt.js'

/** What judges calls. Replaced as a whole, never changed; each has the next `generation`. */
export type World = {
  readonly generation: number
  readonly operator: string
  readonly mode: Mode
  readonly manifests: readonly LoadedManifest[]
  readonly router: Router
  readonly policy: PolicyEngine
}

/** Everything the gate works with; the stages hold no other state. */
export type Parts = {
  readonly journal: Journal
  readonly evidence: Evidence
  readonly state: State
  readonly signer: Signer
  /** Public keys, to verify what this gate signed earlier. */
  readonly keys: () => readonly PublicKeyRecord[]
  readonly crypto: Crypto
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  readonly identity: Identity
  readonly mandates: Mandates
  readonly oneTime: OneTimeEncryption
  readonly intents: IntentRules
  /** How often a session is told what else it may do. */
  readonly advice: Advice
  /** Keyed digests, so that guessable values cannot be guessed from them (seed §13). */
  readonly tenant: TenantKeys
  readonly world: () => World
  readonly halts: () => Halts
  /** A session that is not used for so long is over. */
  readonly sessionIdleSeconds: number
  /** Whether humans can be asked; if not, such a call is refused with `decision_needed`. */
  readonly approvals: boolean
  /** How many items one agent may have open: a looping agent must not flood the approvers. */
  readonly openPerAgent: number
  /** The same of one session. */
  readonly openPerSession: number
  /** `explain`: a refused agent also gets the operator's own words, where there are any (DESIGN §7). */
  readonly denyDetail: 'code' | 'explain'
  /** Each durable line in journal order, after the state has it. */
  readonly subscribe: (listener: (line: Line) => void) => () => void
  /** For the operator: what the record may not contain. */
  readonly report: (event: GateReport) => void
  /** Called with each capsule before it is written, for logs and metrics; MUST NOT throw. */
  readonly concluding?: (ending: Ending, capsule: Capsule) => void
  /** Named points where a test may stop the process; does nothing in production. */
  readonly seam: (name: Seam) => void | Promise<void>
}

/** What an operator says of declarations (gate.yaml `intent`). */
export type IntentRules = {
  /** What becomes of declarations with marks of personal data (seed intent-declaration-primitive-01 §9). */
  readonly pii: 'reject' | 'flag' | 'off'
  /** How far an agent's time may be from the gate's. */
  readonly skewSeconds: number
  /** So many declarations of another mission stop a session (§5.2 g). */
  readonly missionMismatches: number
  /** False: every declaration is restricted, whatever it says itself (§4.2). */
  readonly auditAccessible: boolean
}

export type Seam =
  | 'before_declaration'
  | 'after_declaration'
  | 'before_intent'
  | 'after_intent'
  | 'before_first_byte'
  | 'after_last_byte'
  | 'before_capsule'
  | 'after_capsule'

export type GateReport = {
  readonly level: 'info' | 'warn' | 'error'
  readonly event: string
  readonly actionId?: string
  readonly detail?: string
  /** The journal's newest signed head, for readers of the log to keep. */
  readonly head?: SignedHead
}

// Each stage takes the previous stage's value and adds its own (DESIGN §3).
export type Begun = {
  readonly call: Call
  readonly actionId: string
  /** The capsule's own timestamp and the clock of every time-dependent constraint. */
  readonly at: string
  readonly world: World
  /** Who the credentials say is calling. */
  readonly identified: Identified
}
export type Recognized = Begun & {
  readonly identified: Agent
}
export type Matched = Recognized & {
  readonly call: ReadCall
  readonly rule: ToolRule
  readonly manifest: Manifest
  readonly manifestDigest: string
  readonly args: Args
  /** The exact JSON text, where the rule reads the body. */
  readonly body: string | null
  /** Let through without being read: shown to people, bound in the request digest. */
  readonly notJudged: NotJudged
  /** Passed in observe mode although the rule does not let it through. */
  readonly notRead: NotRead
  readonly mode: Mode
  readonly requestDigest: string
  readonly requestOctets: Octets
}
export type Admitted = Matched & { readonly agent: Agent }
/** A declaration of this call, on record. */
export type OnRecord = Committed & {
  /** As it was received; null where the call goes on by itself, after a wait. */
  readonly received: Uint8Array | null
  /** Resolves when it is durable; null: it was before this call came, which then is that step once more. */
  readonly written: Promise<void> | null
}
/** The governed object a call is about, as it was when the call was judged. */
export type Governed = {
  /** Null: the manifest gives its objects no states. */
  readonly model: ObjectModel | null
  readonly soId: string
  /** Null: nothing is on record of it; `unknown` after an outcome that was not seen. */
  readonly state: string | null
}
/** All null where the tool asks for no declaration, or the call brought none and need not. */
export type Intended = Admitted & {
  readonly intent: OnRecord | null
  readonly mandate: Mandate | null
  readonly object: Governed | null
}
export type Constrained = Intended & {
  readonly records: readonly ConstraintRecord[]
  readonly evidence: readonly EvidencePart[]
  /** Windowed constraints, decided at `reserve` where the reservation is atomic. */
  readonly claims: readonly BudgetClaim[]
  /** Constraints that want a human instead of a block. */
  readonly asking: readonly string[]
  /** A constraint blocks the call, which waits for a person all the same, because its agent demands one. */
  readonly stopped: Refused | null
}
/** The request to a human that this call is about, as it was when the call was judged. */
export type Item =
  | { readonly kind: 'none' }
  /** Not to be used: undecided, or (`stale`) asked under another policy set or manifest. */
  | { readonly kind: 'open'; readonly approval: Approval; readonly stale: boolean }
  | { readonly kind: 'granted'; readonly approval: Approval; readonly run: Run }
  /** A standing grant covers the call; `asked` was open before the grant was issued. */
  | {
      readonly kind: 'standing'
      readonly grant: string
      readonly run: Run
      readonly asked: Approval | null
    }
/** By whose decision a call runs, and the private record of it that the capsule commits to. */
export type Run = { readonly by: By; readonly part: EvidencePart }

export type Authorized = Constrained & {
  readonly decision: Exclude<PolicyDecision, { kind: 'error' }>
  readonly keyHash: string | null
  readonly item: Item
}
export type Approved = Authorized & {
  readonly grant: string | null
  readonly by: By
  readonly decisionId: string
  /** The open item this call closes when it ends. */
  readonly supersedes: string | null
}
export type Reserved = Approved & { readonly reserved: true }
/** Nothing was reserved: the windows of these constraints are full, and they have `on_fail: hitl`. */
export type MustAsk = {
  readonly reserved: false
  readonly asking: readonly string[]
  readonly readings: readonly BudgetReading[]
}

/** What is known of a call when it ends: every field after `Begun` may be missing. */
export type Known = Begun & Partial<Omit<Approved, keyof Begun>> & { readonly opening?: Opening }

/** What APPROVAL_OPENED needs besides the call. */
export type Opening = {
  readonly hitl: Hitl
  readonly documentDigest: string
  readonly callIdentity: string
}
