import type { Plain } from '../core/json/value.js'

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
  /** When named, the record is encrypted under this subject's key and erased with the subject. */
  readonly subject: string | null
  readonly at: string
  readonly parts: readonly EvidencePart[]
}
export type Found<T> =
  | { readonly state: 'present'; readonly value: T }
  | { readonly state: 'erased' }
  | { readonly state: 'missing' }
  /** What is stored is no longer what was put: it MUST NOT be returned. */
  | { readonly state: 'damaged'; readonly detail: string }

/** A digest by the index of the store, without its record being read. */
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
   * MUST be durable before it resolves, and MUST have handed its bytes to the kernel before the bytes of any
   * journal line appended after it, so that after kill -9 evidence precedes the capsule that commits to it.
   * MUST refuse a part whose digest is not its own. MUST accept `urgent` records (conclusions of calls already
   * dispatched) out of the reserve when the disk is full. A record `withNext` may wait for the next write, as a
   * journal's entries may.
   */
  put(record: EvidenceRecord, options?: { urgent?: boolean; withNext?: boolean }): Promise<void>
  /** All parts of all the action's records, oldest first; those erased are left out while others remain. */
  byAction(actionId: string): Promise<Found<readonly EvidencePart[]>>
  byDigest(digest: string): Promise<Found<EvidencePart>>
  /** One result per digest, in order. MUST NOT read records: whole journals are compared with it. */
  inIndex(digests: readonly string[]): Promise<readonly InIndex[]>
  /** Manifest and policy-set bytes by digest: public to auditors, never erased. */
  putPublic(digest: string, bytes: Uint8Array): Promise<void>
  getPublic(digest: string): Promise<Uint8Array | null>
  /** The id of the key that erasing would destroy; null where nothing was encrypted under that scope. */
  keyOf(scope: ErasureScope): Promise<string | null>
  /** Digest of the names of all records under that key (`namesDigest` of core/evidence), live or erased. */
  namesUnder(key: string): Promise<string>
  /** Destroys the key; MUST leave digests intact. Returns how many records became unreadable. */
  erase(scope: ErasureScope): Promise<number>
  health(): { readonly ok: boolean; readonly reason: string | null }
  close(): Promise<void>
}
