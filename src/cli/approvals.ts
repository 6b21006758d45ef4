import { type Command, Option } from 'commander'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { askedInWords, isRestricted, RESTRICTED_WORDS } from '../core/approval/in-words.js'
import { readDocument } from '../core/approval/read-document.js'
import { shownTwice } from '../core/approval/show.js'
import { jsonDigest } from '../core/json/build.js'
import type { Plain } from '../core/json/value.js'
import type { DecisionAnswer } from '../mounts/admin/approvals/decide.js'
import type { ApprovalSummary } from '../mounts/admin/approvals/view.js'
import { type AdminTarget, adminOptions, callAdmin } from './access/admin-client.js'
import { parsedJson } from './access/given-file.js'
import { plain, printResult, table, UsageError } from './output/print.js'

type Filters = { state?: string; tool?: string; agent?: string; mine?: boolean }
type Decide = AdminTarget &
  Partial<Record<'digest' | 'reason' | 'bounds', string>> &
  Record<'for' | 'then', string>
type Decision = { readonly decision: string; readonly [member: string]: unknown }
/** The body of a decision by its options, the approval's id and the digest that was seen. */
type DecisionOf = (options: Decide, id: string, seen: string | undefined) => Decision
type Detail = ApprovalSummary & { readonly document_state: string; readonly document: Plain | null }

/** What a person needs to decide without a browser; the token says who decides. */
export function register(program: Command): void {
  const approvals = program
    .command('approvals')
    .description('see and decide the calls that wait for a human')
  const add = (name: string, description: string): Command =>
    adminOptions(approvals.command(name).description(description)).option('--json', 'print JSON')

  add('ls', 'what waits, or --state decided')
    .addOption(
      new Option('--state <state>', 'which').choices(['open', 'pending', 'approved', 'decided']),
    )
    .option('--tool <name>', 'of one tool')
    .option('--agent <name>', 'of one agent')
    .option('--mine', 'only those that ask you')
    .action((options: AdminTarget & Filters) => list(options))

  const about = (name: string, description: string): Command =>
    add(name, description).argument('<id>', 'approval id')
  about('show', 'the whole document, hidden characters spelt out; its digest last').action(
    async (id: string, options: AdminTarget) => {
      const detail = await fetchDetail(id, options)
      printResult(options, detail, () => describe(detail))
    },
  )

  const withReason = (command: Command): Command =>
    command.option('--reason <text>', 'why; kept in the private record')
  const deciding = (name: string, description: string, decisionOf: DecisionOf): Command =>
    withReason(
      about(name, description)
        .argument('[digest]', `the digest that show printed, or its first ${PREFIX} digits or more`)
        .option('--digest <digest>', 'the same, for scripts'),
    ).action((id: string, prefix: string | undefined, options: Decide) => {
      const { digest: seen = prefix } = options
      return decide(id, seen, decisionOf(options, id, seen), options)
    })

  deciding(
    'approve',
    'let exactly this call run once, or a stopped session go on',
    ({ bounds: given }, id, seen) => {
      if (seen === undefined) {
        throw new UsageError(`approve what you have read: capsule-gate approvals show ${id}`)
      }
      if (given === undefined) return { decision: 'approve' }
      const bounds = parsedJson(given)
      if (bounds === undefined) throw new UsageError('--bounds is not JSON')
      return { decision: 'approve_with_bounds', bounds }
    },
  ).option('--bounds <json>', 'constraints that must hold as well, in the short form of manifests')
  deciding('deny', 'refuse it, or end a stopped session; --reason is needed', ({ reason }) => {
    if (reason === undefined) throw new UsageError('a refusal says why: --reason TEXT')
    return { decision: 'deny' }
  })
  withReason(
    about('reopen', 'take a refusal back: the same call asks a human again; approves nothing'),
  ).action(async (id: string, options: Decide) => {
    const { reason } = options
    const answer = await callAdmin(options, 'POST', pathOf(id, '/reopen'), { reason })
    printResult(options, answer, () => 'reopened: the same call asks a human again')
  })
  deciding('defer', 'decide later; it stays open meanwhile', (options) => ({
    decision: 'defer',
    ttl_seconds: secondsOf(options.for),
    on_expiry: options.then,
  }))
    .requiredOption('--for <time>', 'for how long: 900s, 15m, 4h, 1d')
    .addOption(
      new Option('--then <what>', 'what happens after that')
        .choices(['expired', 'escalated'])
        .default('expired'),
    )
}

const pathOf = (id: string, of = ''): string => `/v1/approvals/${encodeURIComponent(id)}${of}`

const stateOf = ({ verdict, frozen, state }: ApprovalSummary): string =>
  verdict ?? (frozen ? 'halted' : state)

async function list(options: AdminTarget & Filters): Promise<void> {
  const { state, tool, agent, mine } = options
  const query = new URLSearchParams()
  const given = { state, tool, agent, mine: mine === true ? 'yes' : undefined }
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.set(name, value)
  const found = await callAdmin<{ approvals: readonly ApprovalSummary[] }>(
    options,
    'GET',
    `/v1/approvals?${query}`,
  )
  printResult(options, found, () => {
    if (found.approvals.length === 0) return 'nothing'
    const rows = found.approvals.map((approval) => [
      approval.approval_id,
      stateOf(approval),
      approval.holds === 'session' ? `${approval.tool} (stopped session)` : approval.tool,
      approval.agent,
      `${approval.votes}/${approval.quorum}`,
      approval.deadline.at,
    ])
    return table([['id', 'state', 'tool', 'agent', 'votes', 'until'], ...rows]).map(plain)
  })
}

/** What is shown is what is bound: a document that does not have its digest is never shown. */
async function fetchDetail(id: string, options: AdminTarget): Promise<Detail> {
  const detail = await callAdmin<Detail>(options, 'GET', pathOf(id))
  const { document, document_digest } = detail
  if (document !== null && jsonDigest(document, nodeCrypto) !== document_digest) {
    throw new Error('the document the gate sent is not the one its digest names: decide nothing')
  }
  return detail
}

function describe(detail: Detail): string[] {
  const { document, document_state, deadline, votes, quorum } = detail
  const rows = [
    ['state', `${stateOf(detail)}, ${votes} of ${quorum} approved`],
    ['until', `${deadline.at}; then ${deadline.words}`],
    ['asked', detail.asked.join(', ')],
    ['capsule', detail.capsule_id],
  ]
  return [
    document === null ? `the document is ${document_state}` : shownTwice(document),
    ...inWords(document),
    ...table(rows).map(plain),
    `digest ${detail.document_digest}`,
  ]
}

/** Behind the document, so that no text in it can pose as these. */
function inWords(document: Plain): string[] {
  const read = document === null ? null : readDocument(document)
  if (read === null) return []
  if (read.idp_summary === undefined) return [...askedInWords(read)]
  const says = isRestricted(read)
    ? RESTRICTED_WORDS
    : "idp_summary has the agent's own words, which the gate has not checked."
  return [...askedInWords(read), says]
}

const PREFIX = 12

async function decide(
  id: string,
  seen: string | undefined,
  decision: Decision,
  options: Decide,
): Promise<void> {
  if (seen !== undefined && !/^[0-9a-f]{12,64}$/.test(seen)) {
    throw new UsageError(`a digest is ${PREFIX} to 64 lower-case hex digits`)
  }
  const detail = await fetchDetail(id, options)
  const { document_digest: digest, capsule_id: on } = detail
  if (seen !== undefined && !digest.startsWith(seen)) {
    throw new Error('what you have read is not what is asked: show it again')
  }
  const body = { ...decision, digest, on, reason: options.reason }
  const answer = await callAdmin<DecisionAnswer>(options, 'POST', pathOf(id, '/decision'), body)
  const { state, votes, quorum, repeated } = answer
  const [result, meaning] = {
    approved: [
      'approved',
      isLifted(detail)
        ? 'the identical call runs once'
        : 'policy or a constraint still refuses the call',
    ],
    pending: ['recorded', `${votes} of ${quorum} have approved`],
    refused: [
      'refused',
      detail.holds === 'session' ? 'the session is over' : 'the call will not run',
    ],
    deferred: [
      'postponed',
      detail.holds === 'session' ? 'the session stays stopped' : 'it stays open',
    ],
    resumed: ['resumed', 'the session goes on'],
  }[state] as [string, string]
  printResult(options, answer, () => `${result}${repeated ? ' (as before)' : ''}: ${meaning}`)
}

const isLifted = ({ document }: Detail): boolean =>
  document === null || readDocument(document)?.approval_lifts !== false

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function secondsOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,8})([smhd])$/.exec(text) ?? []
  const seconds = Number(count) * (UNITS[unit] ?? 0)
  if (seconds < 1) throw new UsageError(`${text} is no time: 900s, 15m, 4h, 1d`)
  return seconds
}
