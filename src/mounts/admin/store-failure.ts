/** Codes of errors that the journal and the evidence store throw. */
const UNAVAILABLE: ReadonlySet<unknown> = new Set([
  'bad_entry',
  'behind',
  'closed',
  'damaged',
  'digest_mismatch',
  'disk_full',
  'fenced',
  'foreign_origin',
  'forked',
  'head_file',
  'head_missing',
  'key_store',
  'locked',
  'master_key',
  'not_adopted',
  'poisoned',
  'rolled_back',
  'write_failed',
])

/** What a store's failure means to the reader; null for any other error. */
export function storeFailure(error: unknown): 'archived' | 'unavailable' | null {
  const code = (error as { readonly code?: unknown } | null)?.code
  if (code === 'archived') return code
  return UNAVAILABLE.has(code) ? 'unavailable' : null
}
