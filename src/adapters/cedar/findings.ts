/** What `policy check` and a refused load print: where, what, and the way out. */
export type Finding = {
  readonly severity: 'error' | 'warning'
  readonly code: FindingCode
  /** Null when the finding is about the manifests or the set as a whole. */
  readonly file: string | null
  readonly line: number | null
  readonly message: string
  readonly help: string
}

export type FindingCode =
  // the manifests the schema is generated from
  | 'action_args_differ'
  | 'name_reserved'
  // the files
  | 'folder_unreadable'
  | 'folder_nested'
  | 'file_unreadable'
  | 'file_too_large'
  | 'set_empty'
  // one policy's text
  | 'policy_syntax'
  | 'policy_template'
  | 'policy_too_large'
  | 'policy_too_deep'
  | 'policy_crashes'
  | 'policy_invalid'
  | 'policy_impossible'
  | 'policy_suspicious_text'
  // its annotations
  | 'id_missing'
  | 'id_form'
  | 'id_duplicate'
  | 'annotation_unknown'
  | 'hem_value'
  | 'hem_on_permit'
  | 'hem_not_liftable'
  | 'mode_value'
  | 'reason_empty'
  // what it says
  | 'approval_without_hem'
  | 'absence_lets_through'
  | 'permits_everything'
  | 'nothing_enforced'

export type Place = { readonly file: string; readonly line: number }

const finding =
  (severity: Finding['severity']) =>
  (code: FindingCode, place: Place | null, message: string, help: string): Finding => ({
    severity,
    code,
    file: place?.file ?? null,
    line: place?.line ?? null,
    message,
    help,
  })
export const fault = finding('error')
export const warning = finding('warning')

export const hasFaults = (findings: readonly Finding[]): boolean =>
  findings.some(({ severity }) => severity === 'error')
