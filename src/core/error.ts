/**
 * Errors that stay on this side of the wire: an operator reads them. Each has a stable code with a section in
 * docs/errors.md and a hint: the way out. What callers are told is core/verdict/table.ts.
 */
const START_ERRORS = {
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

/** What the journal, the evidence store and the key folder report; `file` names which of them. */
const STORE_ERRORS = {
  locked: 'Another process uses the folder: stop it, or choose another data folder.',
  fenced:
    'A newer writer took over the journal, and this one may not write any more: run one gate per data folder.',
  damaged: 'Do not change the files. Put back the newest good copy of the named file.',
  forked: 'The lines contradict what was recorded elsewhere: compare the journal with your copies.',
  behind: 'The journal is older than a head that left it. Put back the newest copy.',
  foreign_origin: 'The file belongs to another journal: check `journal.head_file` in gate.yaml.',
  head_file: 'Find out who changed the second head before you start again.',
  head_missing: 'Put the second head back, or start once with --accept-missing-head.',
  not_adopted: 'Take the journal over with `capsule-gate journal adopt`.',
  archived: 'Copy the segment back to read it.',
  disk_full:
    'Free space on the disk of the data folder; calls already dispatched are still concluded from the reserve.',
  write_failed: 'Check the disk, mount options and ownership of the data folder.',
  poisoned: 'Writing failed in a way that only a start can check: start the gate again.',
  closed: 'It was closed before; open it again.',
  bad_entry: 'The entry cannot be written as a journal line.',
  rolled_back: 'The writer took back a line that was not durable; read again.',
  digest_mismatch: 'The octets are not those of the digest they came with; nothing was kept.',
  master_key: 'Restore the master key file; evidence encrypted under it cannot be read without it.',
  key_store: 'Put back the newest good copy of the evidence key file.',
  missing: 'Restore the key folder, or run `capsule-gate keys create` for a new gate.',
  exists: 'Keys are there already: use `capsule-gate keys rotate`.',
  permissions: 'Set the mode that the message names.',
} as const

/** What an MCP server cannot do behind the gate. */
const SERVER_ERRORS = {
  tools_unpinnable:
    'A server may have 1,000 tools over time, with names of 1 to 256 characters; its new tools stay out, and those pinned before serve on. Put the others behind a server of another name.',
} as const

export const ERRORS = { ...START_ERRORS, ...STORE_ERRORS, ...SERVER_ERRORS } as const
export type ErrorCode = keyof typeof ERRORS

/** Where the fault was found, and what stood there instead of what. */
export type Location = {
  readonly file: string
  readonly line?: number
  readonly expected?: string
  readonly found?: string
}

export class GateError extends Error {
  readonly code: ErrorCode
  readonly hint: string
  readonly file: string | null
  readonly line: number | null
  constructor(code: ErrorCode, message: string, at?: Location, cause?: unknown) {
    const named = code in START_ERRORS ? `${code}: ${message}` : message
    super(
      at === undefined ? named : `${named} (${describe(at)})`,
      cause === undefined ? {} : { cause },
    )
    this.name = 'GateError'
    this.code = code
    this.hint = ERRORS[code]
    this.file = at?.file ?? null
    this.line = at?.line ?? null
  }
}

function describe({ file, line, expected, found }: Location): string {
  const parts = [line === undefined ? file : `${file}, line ${line}`]
  if (expected !== undefined) parts.push(`expected ${expected}`)
  if (found !== undefined) parts.push(`found ${found}`)
  return parts.join('; ')
}
