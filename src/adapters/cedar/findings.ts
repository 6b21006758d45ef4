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
export type FindingCode = keyof typeof HELP
export type Location = { readonly file: string; readonly line: number }

export const COMPARE = 'compare it with the schema of the manifests'

/** What to do about a finding; some name something of their own instead. */
const HELP = {
  // the manifests the schema is generated from
  action_args_differ:
    'give both the same args (names, types, optional), or give one of them its own action',
  action_intent_differs: 'give both the same intent, or give one of them its own action',
  name_reserved: 'rename it: names are not empty and do not start with two underscores',
  // the files
  folder_unreadable: 'create it with at least one .cedar file, or name another folder',
  folder_nested: 'move them up, or out of the policy folder',
  file_unreadable: 'make it a readable UTF-8 file, or remove it',
  file_too_large: 'split it into several files',
  set_empty: 'write at least one permit: without one everything is denied',
  // one policy's text
  policy_syntax: 'end the policy with a semicolon, and check that every string is closed',
  policy_template: 'name the agent, role or tool in the policy',
  policy_too_large: 'split it: several permits or forbids say the same as one long condition',
  policy_too_deep: 'flatten the condition or split the policy',
  policy_crashes: 'simplify the policies: shorter conditions, less nesting, fewer alternatives',
  policy_invalid: COMPARE,
  policy_impossible: COMPARE,
  policy_suspicious_text: COMPARE,
  // its annotations
  id_missing: 'begin it with @id("a-name"): records and answers name policies by it',
  id_form: 'at most 128 letters, digits and . _ : / -, beginning with a letter or digit',
  id_duplicate: 'give each policy its own id',
  annotation_unknown: 'use @id, @hem, @mode, @reason, or a comment',
  hem_value: 'write @hem("required")',
  hem_on_permit: 'put @hem("required") on a forbid … unless { context.approval.granted }',
  hem_not_liftable: 'end it with: unless { context.approval.granted }',
  mode_value: 'write @mode("observe"), or leave it out to enforce',
  reason_empty: 'say in a sentence why the policy refuses, or leave @reason out',
  // what it says
  approval_without_hem: 'add @hem("required")',
  absence_lets_through: 'say what absence means: if context.args has … then … else …',
  permits_everything: 'name the agent, role, action or tool it is for',
  nothing_enforced: 'remove @mode("observe") from what should hold',
}

const finding =
  (severity: Finding['severity']) =>
  (code: FindingCode, at: Location | null, message: string, help = HELP[code]): Finding => ({
    severity,
    code,
    file: at?.file ?? null,
    line: at?.line ?? null,
    message,
    help,
  })
export const fault = finding('error')
export const warning = finding('warning')

export const hasFaults = (findings: readonly Finding[]): boolean =>
  findings.some(({ severity }) => severity === 'error')
