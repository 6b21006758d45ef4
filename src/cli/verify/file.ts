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
import type { progress } from '../output/progress.js'
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
const NO_CAPSULE = 'there is no capsule in it'
const NO_JOURNAL = 'a head was given (--head), but this is no journal'

type Progress = Pick<ReturnType<typeof progress>, 'update'>

export async function verifyInput(
  input: Input,
  settings: VerifySettings,
  bar: Progress,
): Promise<FileReport> {
  const report = await reportOn(input, settings, bar)
  return settings.head === undefined || report.kind === 'journal' || report.status !== 'valid'
    ? report
    : { ...report, status: 'incomplete', missing: NO_JOURNAL }
}

function reportOn(
  input: Input,
  settings: VerifySettings,
  bar: Progress,
): FileReport | Promise<FileReport> {
  switch (input.kind) {
    case 'statement':
      return statementReport(input.bytes, settings)
    case 'document':
      return documentReport(input.bytes, input.value, settings)
    case 'ledger':
    case 'journal':
      return streamReport(input.kind, input.chunks, settings, bar)
  }
}

/**
 * A signature that no keyring was given for is not checked. The other way round, an unsigned record under a keyring may be
 * a downgrade that was made on purpose: never `valid`.
 */
function grade(
  ok: boolean,
  isSigned: boolean,
  { keys }: VerifySettings,
): Pick<FileReport, 'status' | 'missing'> {
  if (!ok) return { status: 'invalid', missing: null }
  if (isSigned === (keys !== null)) return { status: 'valid', missing: null }
  return { status: 'incomplete', missing: isSigned ? NO_KEYS : NO_SIGNATURE }
}

async function statementReport(bytes: Uint8Array, settings: VerifySettings): Promise<FileReport> {
  const { profile, keys, onProblem } = settings
  const kind = 'statement'
  const malformed = (code: string, detail?: string): void =>
    onProblem({ check: null, severity: 'error', code, ...(detail && { detail }) })
  if (keys !== null) {
    const statement = await verifyStatement(bytes, { keys, profile, crypto: nodeCrypto })
    const { ok, not_checked, signature, findings, class1 } = statement
    if (signature.code !== null) malformed(`signature_${signature.code}`, signature.detail)
    for (const finding of [...findings, ...(class1?.findings ?? [])]) onProblem(finding)
    return { kind, ...grade(ok, true, settings), not_checked, statement }
  }
  // Without keys the payload may be of anyone; what is wrong with it is wrong all the same.
  const read = decodeSign1(bytes)
  if (!read.ok) {
    malformed('signature_malformed', read.detail)
    return { kind, status: 'invalid', missing: null, not_checked: ['everything_else'] }
  }
  const capsule = verifyCapsule(read.sign1.payload, { profile, crypto: nodeCrypto })
  for (const finding of capsule.findings) onProblem(finding)
  const not_checked = [...new Set([...capsule.not_checked, 'signature', 'header'])]
  return { kind, ...grade(capsule.ok, true, settings), not_checked, capsule }
}

function documentReport(bytes: Uint8Array, value: JsonValue, settings: VerifySettings): FileReport {
  const { profile, onProblem } = settings
  const options = { profile, crypto: nodeCrypto }
  if (isEnvelope(value)) {
    const disclosure = verifyDisclosure(bytes, options)
    const { ok, not_checked, capsule, disclosure_findings } = disclosure
    for (const finding of capsule.findings) onProblem(finding)
    for (const { code, member: detail } of disclosure_findings) {
      if (code !== 'disclosure_match') onProblem({ check: null, severity: 'error', code, detail })
    }
    return { kind: 'disclosure', ...grade(ok, false, settings), not_checked, disclosure }
  }
  if (isLedgerObject(value)) {
    const { results, ...end } = verifyLedger(bytes, options)
    const tally = new Tally(onProblem)
    for (const result of results) tally.add(result, null)
    return tally.report('ledger', settings, null, end)
  }
  const capsule = verifyCapsule(bytes, options)
  const { ok, not_checked, findings } = capsule
  for (const finding of findings) onProblem(finding)
  return { kind: 'capsule', ...grade(ok, false, settings), not_checked, capsule }
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
  bar: Progress,
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
    bar.update(input.bytes())
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
    const not_checked = [...this.#open]
    if (this.#invalid === 0 && this.#capsules === 0) {
      return { kind, status: 'incomplete', missing: NO_CAPSULE, not_checked, ledger }
    }
    return { kind, ...grade(this.#invalid === 0, false, settings), not_checked, ledger }
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
