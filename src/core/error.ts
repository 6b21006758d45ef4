/**
 * Errors that stay on this side of the wire: an operator reads them. Each has a stable code with a
 * section in docs/errors.md and says the way out. What callers are told is core/verdict/table.ts.
 */
export const LOCAL_ERRORS = {
  policy_set_empty: 'Add at least one policy: an empty set cannot show that it denies.',
  canary_not_denied:
    'The loaded policies permit a call that nothing should permit; look for a permit without conditions.',
  canary_record_invalid:
    'The capsule written at start does not verify; check the keys and the disk before you start again.',
  journal_unwritable: 'Check space, mount options and ownership of the data folder.',
  evidence_unwritable: 'Check space, mount options and ownership of the data folder.',
  key_unusable: 'Run `capsule-gate keys create`, or restore the key folder with mode 0600.',
  listener_unavailable:
    'Stop what uses the address, or choose another host or port under `listeners` in gate.yaml (serve: --host, --port, --admin-port).',
  config_invalid: 'Correct the named file and line; nothing was changed.',
} as const
export type LocalCode = keyof typeof LOCAL_ERRORS

export class GateError extends Error {
  readonly code: LocalCode
  readonly wayOut: string
  constructor(code: LocalCode, detail: string, options?: { cause?: unknown }) {
    super(`${code}: ${detail}`, options)
    this.name = 'GateError'
    this.code = code
    this.wayOut = LOCAL_ERRORS[code]
  }
}
