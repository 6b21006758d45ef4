import { nodeCrypto } from '../../adapters/crypto-node.js'
import { isArray, isObject, type JsonValue } from '../../core/json/value.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import { decodeSign1 } from '../../core/statement/sign1.js'
import {
  type Class1Result,
  type DisclosureResult,
  type Finding,
  type JournalResult,
  type LedgerEnd,
  type Profile,
  type StatementResult,
  verifyCapsule,
  verifyDisclosure,
  verifyLedger,
  verifyLedgerStream,
  verifyStatement,
} from '../../verify.js'
import type { Progress } from '../output.js'
import { counted, type Input } from './input.js'

/** `incomplete`: nothing found wrong, but what the caller asked for could not be checked. */
export type Status = 'valid' | 'invalid' | 'incomplete'
export type Problem = Finding & { readonly record?: number; readonly line?: number }
export type LedgerSummary = {
  readonly capsules: number
  readonly invalid: number
  readonly lines: number | null
  readonly failures_by_check: Readonly<Record<string, number>>
  readonly open_items: readonly string[]
}
export type FileReport = {
  readonly kind: 'capsule' | 'disclosure' | 'statement' | 'ledger' | 'journal'
  readonly status: Status
  /** Why it is incomplete, or null. */
  readonly missing: string | null
  readonly not_checked: readonly string[]
  readonly capsule?: Class1Result
  readonly statement?: StatementResult
  readonly disclosure?: DisclosureResult
  readonly ledger?: LedgerSummary
  /** Up to which signed head a journal is whole, or why that cannot be told. */
  readonly complete?: JournalResult['complete']
  readonly begun_before?: JournalResult['begun_before']
}
export type VerifySettings = {
  readonly profile: Profile
  /** Text with heads of the journal that were seen elsewhere. */
  readonly head?: string
  /** Seal lines of archived segments before the first line. */
  readonly seals?: readonly string[]
  /** Null when the caller gave no keyring. */
  readonly keys: readonly PublicKeyRecord[] | null
  readonly onProblem: (problem: Problem) => void
}

const NO_KEYS = 'no keyring was given (--keys), so no signature was checked'
const NO_SIGNATURE = 'a keyring was given, but this input carries no signature'
const NO_JOURNAL = 'a head was given (--head), but this is no journal'

export async function verifyInput(
  input: Input,
  settings: VerifySettings,
  progress: Progress,
): Promise<FileReport> {
  const report = await reportOn(input, settings, progress)
  return settings.head === undefined || report.kind === 'journal' || report.status !== 'valid'
    ? report
    : { ...report, status: 'incomplete', missing: NO_JOURNAL }
}

async function reportOn(
  input: Input,
  settings: VerifySettings,
  progress: Progress,
): Promise<FileReport> {
  switch (input.kind) {
    case 'statement':
      return statementReport(input.bytes, settings)
    case 'document':
      return documentReport(input.bytes, input.value, settings)
    case 'ledger':
    case 'journal':
      return streamReport(input.kind, input.chunks, settings, progress)
  }
}

/** An unsigned record under a keyring is a downgrade somebody may have made: never `valid`. */
function unsigned(ok: boolean, settings: VerifySettings): Pick<FileReport, 'status' | 'missing'> {
  if (!ok) return { status: 'invalid', missing: null }
  return settings.keys === null
    ? { status: 'valid', missing: null }
    : { status: 'incomplete', missing: NO_SIGNATURE }
}

function signed(ok: boolean, settings: VerifySettings): Pick<FileReport, 'status' | 'missing'> {
  if (!ok) return { status: 'invalid', missing: null }
  return settings.keys === null
    ? { status: 'incomplete', missing: NO_KEYS }
    : { status: 'valid', missing: null }
}

async function statementReport(bytes: Uint8Array, settings: VerifySettings): Promise<FileReport> {
  const { profile, keys, onProblem } = settings
  if (keys === null) return unverifiedStatement(bytes, settings)
  const statement = await verifyStatement(bytes, { keys, profile, crypto: nodeCrypto })
  const { code, detail } = statement.signature
  if (code !== null) {
    onProblem({
      check: null,
      severity: 'error',
      code: `signature_${code}`,
      ...(detail && { detail }),
    })
  }
  for (const finding of statement.findings) onProblem(finding)
  for (const finding of statement.class1?.findings ?? []) onProblem(finding)
  return {
    kind: 'statement',
    ...signed(statement.ok, settings),
    not_checked: statement.not_checked,
    statement,
  }
}

/** Without keys the payload is anybody's; what is wrong with it is wrong all the same. */
function unverifiedStatement(bytes: Uint8Array, settings: VerifySettings): FileReport {
  const read = decodeSign1(bytes)
  if (!read.ok) {
    const finding = { check: null, severity: 'error', code: 'signature_malformed' } as const
    settings.onProblem({ ...finding, detail: read.detail })
    return { kind: 'statement', status: 'invalid', missing: null, not_checked: ['everything_else'] }
  }
  const capsule = verifyCapsule(read.sign1.payload, {
    profile: settings.profile,
    crypto: nodeCrypto,
  })
  for (const finding of capsule.findings) settings.onProblem(finding)
  const not_checked = [...new Set([...capsule.not_checked, 'signature', 'header'])]
  return { kind: 'statement', ...signed(capsule.ok, settings), not_checked, capsule }
}

function documentReport(bytes: Uint8Array, value: JsonValue, settings: VerifySettings): FileReport {
  const options = { profile: settings.profile, crypto: nodeCrypto }
  if (isEnvelope(value)) {
    const disclosure = verifyDisclosure(bytes, options)
    for (const finding of disclosure.capsule.findings) settings.onProblem(finding)
    for (const { code, member } of disclosure.disclosure_findings) {
      if (code !== 'disclosure_match') {
        settings.onProblem({ check: null, severity: 'error', code, detail: member })
      }
    }
    return {
      kind: 'disclosure',
      ...unsigned(disclosure.ok, settings),
      not_checked: disclosure.not_checked,
      disclosure,
    }
  }
  if (isLedgerObject(value)) {
    const { results, ...end } = verifyLedger(bytes, options)
    const tally = new Tally(settings.onProblem)
    for (const result of results) tally.add(result, null)
    return tally.report('ledger', settings, null, end)
  }
  const capsule = verifyCapsule(bytes, options)
  for (const finding of capsule.findings) settings.onProblem(finding)
  return {
    kind: 'capsule',
    ...unsigned(capsule.ok, settings),
    not_checked: capsule.not_checked,
    capsule,
  }
}

const isEnvelope = (value: JsonValue): boolean =>
  isObject(value) && ((value.has('capsule') && value.has('disclosures')) || value.has('envelope'))

/** The form of the public vectors. */
const isLedgerObject = (value: JsonValue): boolean =>
  isObject(value) && value.size === 1 && isArray(value.get('ledger'))

async function streamReport(
  kind: 'ledger' | 'journal',
  chunks: AsyncIterable<Uint8Array>,
  settings: VerifySettings,
  progress: Progress,
): Promise<FileReport> {
  const { profile, keys, head, seals } = settings
  const input = counted(chunks)
  const tally = new Tally(settings.onProblem)
  const results = verifyLedgerStream(input.pieces, {
    profile,
    crypto: nodeCrypto,
    ...(keys !== null && { keys }),
    ...(head !== undefined && { head }),
    ...(seals !== undefined && { seals }),
  })
  let next = await results.next()
  while (!next.done) {
    tally.add(next.value, input.line())
    progress.update(input.bytes())
    next = await results.next()
  }
  return tally.report(kind, settings, input.lines(), next.value)
}

class Tally {
  #records = 0
  #invalid = 0
  #capsules = 0
  readonly #byCheck: Record<string, number> = {}
  readonly #open = new Set<string>()
  readonly #onProblem: (problem: Problem) => void

  constructor(onProblem: (problem: Problem) => void) {
    this.#onProblem = onProblem
  }

  add(result: Class1Result, line: number | null): void {
    this.#records++
    if (!result.ok) this.#invalid++
    if (result.derived !== null) this.#capsules++
    for (const finding of result.findings) {
      if (finding.severity === 'error') {
        const check = String(finding.check ?? 'other')
        this.#byCheck[check] = (this.#byCheck[check] ?? 0) + 1
      }
      this.#onProblem({ ...finding, record: this.#records, ...(line !== null && { line }) })
    }
    for (const name of result.not_checked) this.#open.add(name)
  }

  report(
    kind: 'ledger' | 'journal',
    settings: VerifySettings,
    lines: number | null,
    { open_items, journal }: LedgerEnd,
  ): FileReport {
    if (journal !== null) this.#addWhole(journal)
    const ledger = {
      capsules: this.#capsules,
      invalid: this.#invalid,
      lines,
      failures_by_check: this.#byCheck,
      open_items,
    }
    if (journal !== null) {
      const { status, complete, begun_before } = journal
      return {
        kind: 'journal',
        status,
        missing: status === 'incomplete' && !complete.ok ? complete.why.join('; ') : null,
        not_checked: [...this.#open],
        ledger,
        complete,
        begun_before,
      }
    }
    const nothing = { status: 'incomplete', missing: 'there is no capsule in it' } as const
    const empty = this.#invalid === 0 && this.#capsules === 0
    const grade = empty ? nothing : unsigned(this.#invalid === 0, settings)
    return { kind, ...grade, not_checked: [...this.#open], ledger }
  }

  /** What belongs to no single line. */
  #addWhole({ findings, not_checked }: JournalResult): void {
    for (const finding of findings) {
      this.#byCheck.other = (this.#byCheck.other ?? 0) + 1
      this.#onProblem(finding)
    }
    for (const name of not_checked) this.#open.add(name)
  }
}
