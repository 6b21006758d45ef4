/** `strict` holds a capsule to CPS; `compat` to Anatomy: open sections, but the same bytes, seal and link. */
export type CpsProfile = 'strict' | 'compat'

export type CpsFinding = {
  readonly severity: 'error' | 'warning'
  readonly code: CpsCode
  /** `reasoning.options.0.feasibility`; empty where it is the document as a whole. */
  readonly field: string
}
export type CpsCode =
  // The categories of CPS's own vectors.
  | 'missing_field'
  | 'wrong_type'
  | 'invalid_value'
  | 'chain_violation'
  | 'integrity_violation'
  // What those do not tell.
  | 'not_canonical'
  | 'unknown_field'

const MOST = 100

/** In the order in which they were found; bounded, so that a hostile document buys no memory. */
export function createFindings(profile: CpsProfile) {
  const list: CpsFinding[] = []
  let failed = false
  const add = (severity: CpsFinding['severity'], code: CpsCode, field: string): void => {
    if (severity === 'error') failed = true
    if (list.length < MOST) list.push({ severity, code, field })
  }
  return {
    list,
    hasFailed: (): boolean => failed,
    error: (code: CpsCode, field: string): void => add('error', code, field),
    /** Of sections: an error under `strict`, else told. */
    ofSection: (code: CpsCode, field: string): void =>
      add(profile === 'strict' ? 'error' : 'warning', code, field),
  }
}
export type CpsFindings = ReturnType<typeof createFindings>
