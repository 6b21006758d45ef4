/** Named points where a test may stop the process, or fail what cannot be made to fail from outside. */
export type Seam =
  | 'before_evidence_write'
  | 'after_evidence_write'
  | 'before_evidence_sync'
  | 'after_evidence_sync'
  | 'before_key_overwrite'
  | 'after_key_overwrite'
  | 'before_index_swap'
  | 'after_index_swap'
export type Seams = { readonly [seam in Seam]?: () => void }
