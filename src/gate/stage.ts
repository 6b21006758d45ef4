import type { Call, HttpCall } from '../core/call.js'
import type { HumanDecision } from '../core/capsule/human.js'
import type { ConstraintRecord, Mode, Octets } from '../core/capsule/model.js'
import type { Crypto } from '../core/crypto.js'
import type { LoadedManifest, Router } from '../core/manifest/match.js'
import type { Manifest, ToolRule } from '../core/manifest/model.js'
import type { Args } from '../core/manifest/read-args.js'
import type {
  BudgetClaim,
  Clock,
  Evidence,
  EvidencePart,
  Identified,
  Identity,
  Ids,
  Journal,
  PolicyDecision,
  PolicyEngine,
  Signer,
  State,
} from '../ports.js'
import type { Halts } from './halt.js'

/** What judges calls right now. Replaced whole, never edited; `generation` tells one from the next. */
export type World = {
  readonly generation: number
  readonly operator: string
  readonly mode: Mode
  readonly manifests: readonly LoadedManifest[]
  readonly router: Router
  readonly policy: PolicyEngine
}

/** Everything the spine is given. It holds no other state. */
export type Parts = {
  readonly journal: Journal
  readonly evidence: Evidence
  readonly state: State
  readonly signer: Signer
  readonly crypto: Crypto
  readonly clock: Clock
  readonly ids: Ids
  readonly identity: Identity
  /** Secret per tenant; makes digests of guessable values useless to a guesser (seed §13). */
  readonly tenantSalt: string
  readonly world: () => World
  readonly halts: () => Halts
  /** Tells the operator what the record may not say. */
  readonly report: (event: GateReport) => void
  /** Named points where a test may stop the process; absent in production. */
  readonly seam: (name: Seam) => void | Promise<void>
}

export type Seam =
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
}

// Each stage takes the previous stage's value and adds its own (DESIGN §3).
export type Opened = {
  readonly call: Call
  readonly actionId: string
  /** The capsule's own timestamp and the clock of every time-dependent constraint. */
  readonly at: string
  readonly world: World
  /** Who the credentials say is calling; `admit` decides, but the record names them from the start. */
  readonly identified: Identified
}
export type Matched = Opened & {
  readonly rule: ToolRule
  readonly manifest: Manifest
  readonly manifestDigest: string
  readonly args: Args
  /** The exact JSON text, where the rule reads the body. */
  readonly body: string | null
  readonly mode: Mode
  readonly requestDigest: string
  readonly requestOctets: Octets
}
export type Admitted = Matched & { readonly agent: Extract<Identified, { kind: 'known' }> }
export type Constrained = Admitted & {
  readonly records: readonly ConstraintRecord[]
  readonly evidence: readonly EvidencePart[]
  /** Windowed constraints, decided at `reserve` where the claim is atomic. */
  readonly claims: readonly BudgetClaim[]
  /** Constraints that want a human instead of a block. */
  readonly asking: readonly string[]
}
export type Authorized = Constrained & {
  readonly decision: Exclude<PolicyDecision, { kind: 'error' }>
  readonly keyHash: string | null
}
export type Approved = Authorized & {
  readonly grant: string | null
  /** Present when a person decided this exact request. */
  readonly human: HumanDecision | null
  readonly decisionId: string
  /** The open item this call closes when it ends. */
  readonly supersedes: string | null
}
export type Reserved = Approved & { readonly reserved: true }

/** What is known when a call ends, however early: everything after `Opened` may be missing. */
export type Known = Opened & Partial<Omit<Approved, keyof Opened>>

export const isHttp = (call: Call): call is HttpCall => call.kind === 'http'
