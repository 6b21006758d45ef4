import type { Class1Result, Profile } from '../../verify.js'
import { type Paint, plain, table } from '../output/print.js'
import type { FileReport, Problem } from './file.js'

/** Seed §6, in a person's words. */
const CHECKS: readonly string[] = [
  'required fields, types, no floats',
  'capsule_id recomputed from the bytes',
  'a confirmed effect binds its response',
  'verdict and effect do not contradict',
  'effect attestation where it must be',
  'chain parent',
  'assurance claims rederived',
  'registry values known',
]
/** Codes of `not_checked` as sentences; a code without one is printed as it is. */
const NOT_CHECKED: Readonly<Record<string, string>> = {
  signature: 'who wrote this: there is no signature or no key for it',
  header: 'the protected header',
  class1: 'the capsule itself',
  chain: 'the chain member: outside capsule_id, only a signature binds it',
  empty_members: 'members that are null or empty: outside capsule_id',
  chain_parent: 'whether the chain parent exists: no ledger was given',
  digest_preimages: 'what the digests commit to: the evidence is elsewhere',
  receipt: 'registration in a transparency log',
  class2: 'the constraint results against manifest and evidence (Class 2)',
  issuer_binding: 'whether this key may speak for this iss: the keyring names no issuers',
  time: "the timestamp: it is the producer's own word",
  decision_id: 'the decision id: the payload names none',
  outcome_subject: 'whether the original action exists',
  action_id_uniqueness: 'that no action_id occurs twice',
  ledger_completeness: 'that no record was left out',
  earlier_journal_lines: 'the lines before the first one given',
  archived_segments: 'the lines of archived segments: their seals are here and hold',
  event_signatures: 'signatures of events other than capsules',
  head_signatures: 'signatures of heads and seals',
  unknown_keys: 'signatures of keys that are not in the keyring',
  journal_tail:
    'whether there were later lines: only a later head, seen elsewhere, would tell (--head)',
  actions_begun_before: 'dispatches in lines that are not here, of effects that are',
  approvals_begun_before: 'requests and votes in lines that are not here, of decisions that are',
  declarations_before: 'declarations in lines that are not here, of calls that are',
  session_audits: 'audit records of sessions that began in lines that are not here',
  halts_before: 'halts that were given in lines that are not here',
  lines_before_adoption: 'lines of version 1: no head covered them when they were written',
  unsigned_lines_adopted: 'lines of version 1 without signature, which an operator accepted',
  closed_items_of_version_1: 'who closed blocked items in version 1: it wrote no signed line of it',
  content_hash: 'that the hashes are of the contents: the level is structural',
  signers: 'who signed: the keys are the export’s own',
  signed_by: 'who signed: the signer is unknown, and the active key fits',
  truth_of_content: 'whether what a record says is true: a seal says that it was not changed since',
  identity_of_signer: 'who holds the key: a fingerprint is no identity',
  signed_at: 'when it was sealed: outside what is hashed',
  completeness: 'that everything was recorded',
  metadata: 'metadata: outside what is hashed',
  everything_else: 'everything after the point of failure',
}

export function renderProblem(problem: Problem, paint: Paint): string {
  const { severity, check, code, detail, line, record } = problem
  const where = line !== undefined ? `line ${line}` : record !== undefined ? `record ${record}` : ''
  const word = paint(severity === 'error' ? 'red' : 'yellow', severity)
  const parts = [where, word, check === null ? '' : `check ${check}`, code]
  const text = parts.filter((part) => part !== '').join('  ')
  return `  ${text}${detail === undefined ? '' : `: ${plain(detail)}`}`
}

export function renderReport(report: FileReport, profile: Profile, paint: Paint): string[] {
  const rows: string[][] = [...signatureRows(report), ...bodyRows(report, profile)]
  const lines = table(rows, (cell, column) =>
    column === 0
      ? paint(cell === 'ok' ? 'green' : cell === 'FAILED' ? 'red' : 'yellow', cell)
      : cell,
  )
  return [
    ...lines,
    ...(report.missing === null ? [] : [paint('yellow', `incomplete: ${report.missing}`)]),
    paint('bold', 'not checked'),
    ...report.not_checked.map((name) => paint('dim', `- ${NOT_CHECKED[name] ?? name}`)),
  ].map((line) => `  ${line}`)
}

const okOr = (isOk: boolean): string => (isOk ? 'ok' : 'FAILED')

function signatureRows(report: FileReport): string[][] {
  const { statement, kind, ledger, not_checked } = report
  if (statement !== undefined) {
    const { header, signature } = statement
    const { ok, kid, alg, code } = signature
    const sound = statement.findings.every(({ severity }) => severity !== 'error')
    const by = ok ? `alg ${alg}, kid ${kid}` : `${code}, kid ${kid?.slice(0, 64) ?? 'none'}`
    return [
      [okOr(ok), 'signature', by],
      header === null
        ? ['--', 'header', 'not reached']
        : [okOr(sound), 'header', plain(`iss ${header.iss}, sub ${header.sub}`)],
    ]
  }
  if (kind !== 'journal' || ledger === undefined) return []
  const failed = ledger.failures_by_check.other ?? 0
  const signed = !['event_signatures', 'unknown_keys'].some((name) => not_checked.includes(name))
  const what = signed ? 'lines, signatures, heads, actions, people' : 'lines, actions, people'
  return [[okOr(failed === 0), what, errors(failed)], ...completeRows(report)]
}

const errors = (count: number): string => (count === 0 ? '' : `${count} errors`)

/** Never more than the head says: what was cut behind it shows only against a later one. */
function completeRows({ complete, begun_before }: FileReport): string[][] {
  if (complete === undefined) return []
  const { actions, approvals } = begun_before ?? { actions: 0, approvals: 0 }
  const before = `${actions} actions and ${approvals} decisions began in lines that are not here`
  return [
    complete.ok
      ? [
          'ok',
          `complete up to head ${complete.upto} of ${complete.time}`,
          `${complete.lines} lines, ${complete.capsules} capsules`,
        ]
      : ['--', 'complete', 'cannot be told'],
    ...(actions + approvals === 0 ? [] : [['--', before, '']]),
  ]
}

function bodyRows(report: FileReport, profile: Profile): string[][] {
  const { capsule, statement, disclosure, ledger, other, status } = report
  if (other !== undefined) {
    const said = Object.entries(other).map(([name, value]) => [
      okOr(status !== 'invalid'),
      name,
      plain(String(value)),
    ])
    return said
  }
  if (ledger !== undefined) {
    const { capsules, invalid, lines, open_items, failures_by_check } = ledger
    return [
      ...CHECKS.map((name, i) => {
        const failed = failures_by_check[String(i + 1)] ?? 0
        const state = failed === 0 && capsules === 0 ? '--' : okOr(failed === 0)
        return [state, `${i + 1} ${name}`, errors(failed)]
      }),
      [
        okOr(invalid === 0),
        `${capsules} capsules${lines === null ? '' : ` in ${lines} lines`}`,
        `${invalid} invalid, ${open_items.length} open items, profile ${profile}`,
      ],
    ]
  }
  const shown = disclosure?.capsule ?? capsule ?? statement?.class1 ?? null
  const rows = shown === null ? [] : checkRows(shown, profile)
  if (disclosure === undefined) return rows
  const { disclosures_checked: all, disclosures_matched: matched } = disclosure
  const state = all === 0 ? '--' : okOr(matched === all)
  return [...rows, [state, 'disclosures', `${matched} of ${all} match their digest`]]
}

function checkRows({ ok, derived, findings, not_checked }: Class1Result, profile: Profile) {
  const rows = CHECKS.map((name, i): string[] => {
    const failed = findings.some(({ check, severity }) => check === i + 1 && severity === 'error')
    const label = `${i + 1} ${name}`
    if (failed) return ['FAILED', label, '']
    if (derived === null) return ['--', label, 'not reached']
    const noStore = i + 1 === 6 && not_checked.includes('chain_parent')
    return noStore ? ['--', label, 'no ledger given'] : ['ok', label, '']
  })
  const { effect_mode, attestation_mode, ledger_mode } = derived ?? {}
  const modes = derived === null ? '' : [effect_mode, attestation_mode, ledger_mode].join(', ')
  return [...rows, [okOr(ok), `profile ${profile}`, modes]]
}
