import type { Class1Result, Profile } from '../../verify.js'
import { type Paint, plain, table } from '../output.js'
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
  halts_before: 'halts that were given in lines that are not here',
  lines_before_adoption: 'lines of version 1: no head covered them when they were written',
  unsigned_lines_adopted: 'lines of version 1 without signature, which an operator accepted',
  closed_items_of_version_1: 'who closed blocked items in version 1: it wrote no signed line of it',
  everything_else: 'everything after the point of failure',
}

export function renderProblem(problem: Problem, paint: Paint): string {
  const { severity, check, code, detail, line, record } = problem
  const place = line !== undefined ? `line ${line}` : record !== undefined ? `record ${record}` : ''
  const word = severity === 'error' ? paint('red', severity) : paint('yellow', severity)
  const parts = [place, word, check === null ? '' : `check ${check}`, code]
  const said = parts.filter((part) => part !== '').join('  ')
  return `  ${said}${detail === undefined ? '' : `: ${plain(detail)}`}`
}

export function renderReport(report: FileReport, profile: Profile, paint: Paint): string[] {
  const rows: string[][] = [...signatureRows(report), ...bodyRows(report, profile)]
  const lines = table(rows, (cell, column) => {
    if (column !== 0) return cell
    if (cell === 'ok') return paint('green', cell)
    return cell === 'FAILED' ? paint('red', cell) : paint('yellow', cell)
  })
  const open = report.not_checked.map((name) => `- ${NOT_CHECKED[name] ?? name}`)
  return [
    ...lines.map((line) => `  ${line}`),
    ...(report.missing === null ? [] : [`  ${paint('yellow', `incomplete: ${report.missing}`)}`]),
    `  ${paint('bold', 'not checked')}`,
    ...open.map((line) => `  ${paint('dim', line)}`),
  ]
}

function signatureRows(report: FileReport): string[][] {
  const { statement, kind, ledger, not_checked } = report
  if (statement !== undefined) {
    const { ok, kid, alg, code } = statement.signature
    const header = statement.header
    const bad = statement.findings.some(({ severity }) => severity === 'error')
    return [
      [
        ok ? 'ok' : 'FAILED',
        'signature',
        ok ? `alg ${alg}, kid ${kid}` : `${code}, kid ${kid?.slice(0, 64) ?? 'none'}`,
      ],
      header === null
        ? ['--', 'header', 'not reached']
        : [bad ? 'FAILED' : 'ok', 'header', plain(`iss ${header.iss}, sub ${header.sub}`)],
    ]
  }
  if (kind === 'journal' && ledger !== undefined) {
    const failed = ledger.failures_by_check.other ?? 0
    const signed = !['event_signatures', 'unknown_keys'].some((name) => not_checked.includes(name))
    const what = signed ? 'lines, signatures, heads, actions, people' : 'lines, actions, people'
    return [
      [failed === 0 ? 'ok' : 'FAILED', what, failed === 0 ? '' : `${failed} errors`],
      ...completeRows(report),
    ]
  }
  return []
}

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
  const { capsule, statement, disclosure, ledger } = report
  if (ledger !== undefined) {
    const { capsules, invalid, lines, open_items, failures_by_check } = ledger
    return [
      ...CHECKS.map((name, i) => {
        const failed = failures_by_check[String(i + 1)] ?? 0
        const state = failed > 0 ? 'FAILED' : capsules === 0 ? '--' : 'ok'
        return [state, `${i + 1} ${name}`, failed > 0 ? `${failed} errors` : '']
      }),
      [
        invalid === 0 ? 'ok' : 'FAILED',
        `${capsules} capsules${lines === null ? '' : ` in ${lines} lines`}`,
        `${invalid} invalid, ${open_items.length} open items, profile ${profile}`,
      ],
    ]
  }
  const shown = disclosure?.capsule ?? capsule ?? statement?.class1 ?? null
  const rows = shown === null ? [] : checkRows(shown, profile)
  if (disclosure === undefined) return rows
  const { disclosures_checked: all, disclosures_matched: matched } = disclosure
  const state = all > 0 && matched === all ? 'ok' : all === 0 ? '--' : 'FAILED'
  return [...rows, [state, 'disclosures', `${matched} of ${all} match their digest`]]
}

function checkRows(result: Class1Result, profile: Profile): string[][] {
  const reached = result.derived !== null
  const rows = CHECKS.map((name, i): string[] => {
    const check = i + 1
    const failed = result.findings.some((f) => f.check === check && f.severity === 'error')
    if (failed) return ['FAILED', `${check} ${name}`, '']
    if (!reached) return ['--', `${check} ${name}`, 'not reached']
    const noStore = check === 6 && result.not_checked.includes('chain_parent')
    return noStore ? ['--', `${check} ${name}`, 'no ledger given'] : ['ok', `${check} ${name}`, '']
  })
  const { derived } = result
  const modes =
    derived === null
      ? ''
      : `${derived.effect_mode}, ${derived.attestation_mode}, ${derived.ledger_mode}`
  return [...rows, [result.ok ? 'ok' : 'FAILED', `profile ${profile}`, modes]]
}
