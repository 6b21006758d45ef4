import { join, relative } from 'node:path'
import type { Capsule } from '../../core/capsule/model.js'
import { TABLE } from '../../core/verdict/table.js'
import type { Approval } from '../../ports/state.js'
import { type Paint, plain, table } from '../output/print.js'
import { bodyOf, type Happened } from './agent.js'
import { approverFile, type DemoFiles } from './files.js'

/** Enough of an id to find it by. */
const PREFIX = 12

/** Paths as one would type them from here. */
const here = (path: string): string => {
  const near = relative('.', path)
  return near.startsWith('..') ? path : near
}
export const journalFile = (dir: string): string => join(dir, 'data', 'journal', '00000001.jsonl')
export const keyringFile = (dir: string): string => join(dir, 'data', 'keys', 'keyring.json')

export const whereToLook = (url: string, people: string, tool: string, dir: string): string[] =>
  table([
    ['agents connect to', url],
    ['people decide at', people],
    ['the payments tool', tool],
    ['files and records', here(dir)],
  ]).map((line) => `  ${plain(line)}`)

/** Two lines a call: what was asked and what the record says, then why, as the agent is told. */
export function describeCalls(
  happened: readonly Happened[],
  capsules: ReadonlyMap<string, Capsule>,
  paint: Paint,
): string[] {
  const cells = happened.map(({ call, status, capsuleId }) => {
    const capsule = capsules.get(capsuleId)
    return [
      `${call.agent}: refund ${call.amount} of ${call.order}`,
      String(status),
      capsule?.disposition.verdict_class ?? 'no capsule',
      capsule?.effect?.status ?? '-',
      capsuleId.slice(0, PREFIX),
    ]
  })
  const head = ['call', 'http', 'verdict', 'effect', 'capsule']
  const [title = '', ...lines] = table([head, ...cells])
  const why = happened.map(
    ({ refusal, status }) =>
      refusal ?? (status < 300 ? TABLE.executed.said : TABLE.tool_refused.said),
  )
  return [
    `  ${paint('bold', title)}`,
    ...lines.flatMap((line, i) => [`  ${line}`, `    ${paint('dim', plain(why[i] ?? ''))}`]),
  ]
}

/** Only while the gate is up. */
export const whatToTry = (url: string, token: string): string[] => [
  '  a call of your own',
  `    curl -i ${url}/v1/refunds -H 'Authorization: Bearer ${token}' \\`,
  `      -H 'Content-Type: application/json' -d '${bodyOf({ order: 'o-1001', amount: '9500.00' })}'`,
]

/** How the reader decides the waiting call: in a browser, or here. */
export function howToDecide(
  { approvalId, documentDigest }: Pick<Approval, 'approvalId' | 'documentDigest'>,
  people: string,
  files: Pick<DemoFiles, 'dir' | 'approver'>,
): string[] {
  const how = `--url ${new URL(people).origin} --token-file ${typed(approverFile(files.dir))}`
  return [
    '  the waiting call: decide it in a browser',
    `    ${people}/${approvalId}`,
    `    token ${files.approver}`,
    '  or from here: read it, then approve what you have read',
    `    npx capsule-gate approvals show ${approvalId} \\`,
    `      ${how}`,
    `    npx capsule-gate approvals approve ${approvalId} ${documentDigest.slice(0, PREFIX)} \\`,
    `      ${how}`,
    '  then the agent sends the same call again, and it runs once',
  ]
}

export function howToVerify(dir: string, capsuleId: string): string[] {
  const journal = typed(journalFile(dir))
  const data = typed(join(dir, 'data'))
  const keys = `--keys ${typed(keyringFile(dir))}`
  return [
    '  one capsule, offline',
    `    npx capsule-gate ledger show ${capsuleId} --data ${data} --cose one.cose &&`,
    `      npx capsule-gate verify one.cose ${keys}`,
    '  the whole journal',
    `    npx capsule-gate verify ${journal} \\`,
    `      ${keys}`,
  ]
}

/** As a shell takes it. */
const typed = (path: string): string =>
  /^[\w./-]+$/.test(here(path)) ? here(path) : `'${here(path).replaceAll("'", "'\\''")}'`
