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
import { counted, type Input } from './input.js'
import {
  bundleReport,
  capsuleReport,
  chainReport,
  type OtherSettings,
  receiptsReport,
} from './other.js'

export type Problem = Finding & { readonly record?: number; readonly line?: number }
export type FileReport = {
  readonly kind:
    | 'capsule'
    | 'disclosure'
    | 'statement'
    | 'ledger'
    | 'journal'
    | 'cps_capsule'
    | 'cps_chain'
    | 'cps_bundle'
    | 'receipts'
  /** `incomplete`: nothing found wrong, but what the caller asked for could not be checked. */
  readonly status: 'valid' | 'invalid' | 'incomplete'
  /** Why it is incomplete, or null. */
  readonly missing: string | null
  readonly not_checked: readonly string[]
  readonly capsule?: Class1Result
  readonly statement?: StatementResult
  readonly disclosure?: DisclosureResult
  readonly ledger?: {
    readonly capsules: number
    readonly invalid: number
    readonly lines: number | null
    readonly failures_by_check: Readonly<Record<string, number>>
    readonly open_items: readonly string[]
  }
  /** Of other makers' records: what there is, and its newest hash. */
  readonly other?: { readonly [name: string]: unknown }
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
  /** The same keyring, read for capsules of the Capsule Protocol. */
  readonly other?: Pick<OtherSettings, 'keys' | 'fallback' | 'level'>
  readonly onProblem: (problem: Problem) => void
  /** How many bytes of a ledger or journal are read so far. */
  readonly onRead?: (bytes: number) => void
}

const NO_KEYS = 'no keyring was given (--keys), so no signature was checked'
const NO_SIGNATURE = 'a keyring was given, but this input carries no signature'
const NO_CAPSULE = 'there is no capsule in it'
const NO_JOURNAL = 'a head was given (--head), but this is no journal'

export async function verifyInput(input: Input, settings: VerifySettings): Promise<FileReport> {
  const report = await reportOn(input, settings)
  return settings.head === undefined || report.kind === 'journal' || report.status !== 'valid'
    ? report
    : { ...report, status: 'incomplete', missing: NO_JOURNAL }
}

function reportOn(input: Input, settings: VerifySettings): Promise<FileReport> {
  switch (input.kind) {
    case 'statement':
      return statementReport(input.bytes, settings)
    case 'document':
      return documentReport(input.bytes, input.value, settings)
    case 'ledger':
    case 'journal':
      return streamReport(input.kind, input.chunks, settings)
    default:
      return otherReport(input, settings)
  }
}

const UNKEYED = { keys: null, level: 'cryptographic' } as const

async function otherReport(
  input: Extract<Input, { kind: 'cps_capsule' | 'cps_chain' | 'cps_bundle' | 'receipts' }>,
  { profile, other = UNKEYED, onProblem }: VerifySettings,
): Promise<FileReport> {
  const settings = { profile, onProblem, ...other }
  switch (input.kind) {
    case 'cps_capsule':
      return capsuleReport(input.value, settings)
    case 'cps_chain':
      return chainReport(input.values, settings)
    case 'cps_bundle':
      return bundleReport(input.files, settings)
    case 'receipts':
      return receiptsReport(input.lines, settings)
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

async function documentReport(
  bytes: Uint8Array,
  value: JsonValue,
  settings: VerifySettings,
): Promise<FileReport> {
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
    const all = async function* () {
      yield* results
      return end
    }
    return ledgerReport('ledger', all(), settings, null)
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

function streamReport(
  kind: 'ledger' | 'journal',
  chunks: AsyncIterable<Uint8Array>,
  settings: VerifySettings,
): Promise<FileReport> {
  const { profile, keys, head, seals } = settings
  const input = counted(chunks)
  const results = verifyLedgerStream(input.pieces, {
    profile,
    crypto: nodeCrypto,
    ...(keys !== null && { keys }),
    ...(head !== undefined && { head }),
    ...(seals !== undefined && { seals }),
  })
  return ledgerReport(kind, results, settings, input)
}

/** `input` is null for a ledger that does not consist of lines. */
async function ledgerReport(
  kind: 'ledger' | 'journal',
  results: AsyncGenerator<Class1Result, LedgerEnd>,
  settings: VerifySettings,
  input: ReturnType<typeof counted> | null,
): Promise<FileReport> {
  const { onProblem, onRead } = settings
  const unchecked = new Set<string>()
  const failures_by_check: Record<string, number> = {}
  const countFailure = (check: number | null): void => {
    const name = String(check ?? 'other')
    failures_by_check[name] = (failures_by_check[name] ?? 0) + 1
  }
  let record = 0
  let invalid = 0
  let capsules = 0
  let next = await results.next()
  for (; !next.done; next = await results.next()) {
    const { ok, derived, findings, not_checked } = next.value
    record++
    if (!ok) invalid++
    if (derived !== null) capsules++
    for (const finding of findings) {
      if (finding.severity === 'error') countFailure(finding.check)
      onProblem({ ...finding, record, ...(input && { line: input.line() }) })
    }
    for (const name of not_checked) unchecked.add(name)
    if (input !== null) onRead?.(input.bytes())
  }
  const { open_items, journal } = next.value
  // What belongs to no single line.
  for (const finding of journal?.findings ?? []) {
    countFailure(null)
    onProblem(finding)
  }
  for (const name of journal?.not_checked ?? []) unchecked.add(name)
  const not_checked = [...unchecked]
  const lines = input?.lines() ?? null
  const ledger = { capsules, invalid, lines, failures_by_check, open_items }
  if (journal !== null) {
    const { status, complete, begun_before } = journal
    const missing = status === 'incomplete' && !complete.ok ? complete.why.join('; ') : null
    return { kind: 'journal', status, missing, not_checked, ledger, complete, begun_before }
  }
  if (invalid === 0 && capsules === 0) {
    return { kind, status: 'incomplete', missing: NO_CAPSULE, not_checked, ledger }
  }
  return { kind, ...grade(invalid === 0, false, settings), not_checked, ledger }
}
