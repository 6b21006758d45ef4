import { nodeCrypto } from '../../adapters/crypto-node.js'
import { verifyReceipts } from '../../capseal.js'
import { createChain } from '../../core/cps/chain.js'
import type { CpsKey } from '../../core/cps/keys.js'
import { sealedOf } from '../../core/cps/sealed.js'
import { verifySealed } from '../../core/cps/verify.js'
import { isArray, isObject, type JsonValue } from '../../core/json/value.js'
import { type BundleFiles, verifyBundle } from '../../cps.js'
import type { FileReport, Problem } from './file.js'

/** What another maker's record is, told by its members. */
export type OtherKind = 'cps_capsule' | 'cps_chain' | 'receipts'

/** A capsule of the Capsule Protocol, alone or as an entry of a bundle; a file of entries; or an action of CapSeal. */
export function otherKind(value: JsonValue): OtherKind | null {
  if (!isObject(value)) return null
  if (value.has('action_id') && value.has('receipt_hash') && value.has('action_type')) {
    return 'receipts'
  }
  const entries = value.get('capsules')
  if (isArray(entries) && (value.has('head_hash') || entries.some(isEntry))) return 'cps_chain'
  return isEntry(value) ? 'cps_capsule' : null
}

const isEntry = (value: JsonValue): boolean =>
  isObject(value) &&
  ((typeof value.get('canonical') === 'string' && value.has('hash')) ||
    ['trigger', 'reasoning', 'authority', 'outcome'].every((section) => value.has(section)))

export type OtherSettings = {
  readonly profile: 'strict' | 'compat'
  readonly level: 'structural' | 'cryptographic'
  /** Null: none were given. */
  readonly keys: readonly CpsKey[] | null
  readonly fallback?: CpsKey
  readonly onProblem: (problem: Problem) => void
}

const NO_KEYS = 'no keys of capsules were given (--keys), so no signature was checked'
const OWN_KEYS =
  'the keys are the bundle’s own (--keys pins others): whoever signs all of it again is believed'

type Report = Pick<FileReport, 'kind' | 'status' | 'missing' | 'not_checked' | 'other'>

export function capsuleReport(value: JsonValue, settings: OtherSettings): Report {
  const { onProblem } = settings
  const sealed = sealedOf(value)
  if (sealed === null) {
    problem(onProblem, 'unreadable', null)
    return { kind: 'cps_capsule', ...grade(false, null), not_checked: ['everything_else'] }
  }
  const { ok, code, findings, not_checked, hash, public_key } = verifySealed(
    sealed,
    cpsOptions(settings),
  )
  for (const { severity, code, field } of findings)
    onProblem({ check: null, severity, code, ...(field === '' ? {} : { detail: field }) })
  if (code !== null) problem(onProblem, code, null)
  const other = { hash, signer: public_key }
  return { kind: 'cps_capsule', ...grade(ok, unsigned(settings)), not_checked, other }
}

/** Capsules in the order of their chain. */
export function chainReport(values: Iterable<JsonValue>, settings: OtherSettings): Report {
  const chain = createChain(cpsOptions(settings))
  for (const value of values) chain.add(sealedOf(value))
  const { ok, findings, length, head, signers, not_checked } = chain.end()
  for (const { code, index, field } of findings) problem(settings.onProblem, code, index, field)
  const other = { capsules: length, head, signers }
  return { kind: 'cps_chain', ...grade(ok, unsigned(settings)), not_checked, other }
}

const cpsOptions = ({ profile, level, keys, fallback }: OtherSettings) => ({
  profile,
  level,
  keys,
  requirePq: false,
  crypto: nodeCrypto,
  ...(fallback === undefined ? {} : { fallback }),
})
const unsigned = ({ keys, level }: OtherSettings): string | null =>
  level === 'cryptographic' && keys === null ? NO_KEYS : null

export function receiptsReport(lines: Iterable<string>, { onProblem }: OtherSettings): Report {
  const { ok, findings, length, fields, head, not_checked } = verifyReceipts(lines, {
    crypto: nodeCrypto,
  })
  for (const { code, index, field } of findings) problem(onProblem, code, index, field)
  return {
    kind: 'receipts',
    ...grade(ok, null),
    not_checked,
    other: { actions: length, fields, head },
  }
}

export function bundleReport(files: BundleFiles, settings: OtherSettings): Report {
  const { profile, level, keys, onProblem } = settings
  const { ok, findings, chains, capsules, not_checked } = verifyBundle(files, {
    profile,
    level,
    crypto: nodeCrypto,
    ...(keys === null ? {} : { keys }),
  })
  for (const finding of findings) {
    const index = 'index' in finding ? finding.index : null
    problem(onProblem, finding.code, index, finding.field, finding.chain)
  }
  const missing = keys === null ? OWN_KEYS : null
  return { kind: 'cps_bundle', ...grade(ok, missing), not_checked, other: { chains, capsules } }
}

const grade = (ok: boolean, missing: string | null): Pick<FileReport, 'status' | 'missing'> =>
  !ok
    ? { status: 'invalid', missing: null }
    : { status: missing === null ? 'valid' : 'incomplete', missing }

function problem(
  onProblem: OtherSettings['onProblem'],
  code: string,
  index: number | null,
  field?: string,
  chain?: string | null,
): void {
  const where = chain == null ? '' : `chain ${chain}`
  const detail = [where, field].filter((part) => part !== undefined && part !== '').join(', ')
  onProblem({
    check: null,
    severity: 'error',
    code,
    ...(index === null ? {} : { record: index }),
    ...(detail === '' ? {} : { detail }),
  })
}
