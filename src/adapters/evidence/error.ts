export type EvidenceFault =
  /** No space, and this record may not use the reserve. Nothing of it was kept. */
  | 'disk_full'
  | 'write_failed'
  /** An earlier fault could not be undone; only a restart, which reads everything again, helps. */
  | 'poisoned'
  | 'digest_mismatch'
  | 'closed'
  | 'locked'
  | 'master_key'
  | 'key_store'
  | 'damaged'

export class EvidenceError extends Error {
  readonly code: EvidenceFault
  constructor(code: EvidenceFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EvidenceError'
    this.code = code
  }
}

export const errnoOf = (error: unknown): string | undefined =>
  (error as NodeJS.ErrnoException | null)?.code

export const isFull = (error: unknown): boolean =>
  errnoOf(error) === 'ENOSPC' || errnoOf(error) === 'EDQUOT'
