import type { ObjectOf, Of } from '../json/shape.js'
import type { capsule, constraintRecord, EXTENSIONS, effect, mode, octets } from './shapes.js'

export { FORMAT_VERSION, SPEC_VERSION } from './shapes.js'

export type Capsule = Of<typeof capsule>
export type Extensions = ObjectOf<typeof EXTENSIONS>
export type Effect = Of<typeof effect>
export type Octets = Of<typeof octets>
export type ConstraintRecord = Of<typeof constraintRecord>
export type Mode = Of<typeof mode>
export type Assurance = Capsule['assurance']
export type Disposition = Capsule['disposition']
export type Chain = NonNullable<Capsule['chain']>
export type ExpiryPolicy = NonNullable<Disposition['expiry_policy']>
export type EffectStatus = Effect['status']
export type ResponseBinding = NonNullable<Effect['dev.capsulegate.response_binding']>
export type AttestationMode = Assurance['attestation_mode']
export type EffectMode = Assurance['effect_mode']
export type LedgerMode = Assurance['ledger_mode']
