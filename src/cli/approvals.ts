import { type Command, Option } from 'commander'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { shownTwice } from '../core/approval/show.js'
import { jsonDigest } from '../core/json/build.js'
import type { Plain } from '../core/json/value.js'
import type { DecisionAnswer } from '../mounts/admin/approvals/decide.js'
import type { ApprovalSummary } from '../mounts/admin/approvals/view.js'
import { type AdminTarget, adminOptions, callAdmin } from './admin-client.js'
import { plain, print, printJson, table, UsageError } from './output.js'

type Options = AdminTarget & { json?: boolean }
type Filters = { state?: string; tool?: string; agent?: string; mine?: boolean }
type Said = { digest?: string; reason?: string }
type Detail = ApprovalSummary & {
  readonly document_state: string
  readonly document: Plain | null
}

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
    .action(async (options: Options & Filters) => list(options))

  add('show', 'the whole document, hidden characters spelt out; its digest last')
    .argument('<id>', 'approval id')
    .action(async (id: string, options: Options) => {
      const detail = await fetchDetail(id, options)
      if (options.json === true) printJson(detail)
      else for (const line of told(detail)) print(line)
    })

  const deciding = (name: string, description: string): Command =>
    add(name, description)
      .argument('<id>', 'approval id')
      .argument('[digest]', `the digest that show printed, or its first ${PREFIX} digits or more`)
      .option('--digest <digest>', 'the same, for scripts')
      .option('--reason <text>', 'why; kept in the private record')

  deciding('approve', 'let exactly this call run once')
    .option('--bounds <json>', 'constraints that must hold as well, in the short form of manifests')
    .action(
      async (
        id: string,
        prefix: string | undefined,
        options: Options & Said & { bounds?: string },
      ) => {
        const seen = options.digest ?? prefix
        if (seen === undefined) {
          throw new UsageError(`approve what you have read: capsule-gate approvals show ${id}`)
        }
        const { bounds } = options
        const what =
          bounds === undefined
            ? { decision: 'approve' }
            : { decision: 'approve_with_bounds', bounds: parsed(bounds) }
        await decide(id, seen, what, options)
      },
    )
  deciding('deny', 'refuse it; --reason is needed').action(
    async (id: string, prefix: string | undefined, options: Options & Said) => {
      if (options.reason === undefined) throw new UsageError('a refusal says why: --reason TEXT')
      await decide(id, options.digest ?? prefix, { decision: 'deny' }, options)
    },
  )
  add('reopen', 'take a refusal back: the same call asks a human again; approves nothing')
    .argument('<id>', 'approval id')
    .option('--reason <text>', 'why; kept in the private record')
    .action(async (id: string, options: Options & Said) => {
      const { reason } = options
      const path = `/v1/approvals/${encodeURIComponent(id)}/reopen`
      const body = reason === undefined ? {} : { reason }
      const answer = await callAdmin<{ reopened: string }>(options, 'POST', path, body)
      if (options.json === true) printJson(answer)
      else print('reopened: the same call asks a human again')
    })
  deciding('defer', 'decide later; it stays open meanwhile')
    .requiredOption('--for <time>', 'for how long: 900s, 15m, 4h, 1d')
    .addOption(
      new Option('--then <what>', 'what happens after that')
        .choices(['expired', 'escalated'])
        .default('expired'),
    )
    .action(
      async (
        id: string,
        prefix: string | undefined,
        options: Options & Said & { for: string; then: string },
      ) => {
        const what = {
          decision: 'defer',
          ttl_seconds: secondsOf(options.for),
          on_expiry: options.then,
        }
        await decide(id, options.digest ?? prefix, what, options)
      },
    )
}

async function list({ state, tool, agent, mine, ...options }: Options & Filters): Promise<void> {
  const query = new URLSearchParams({
    ...(state === undefined ? {} : { state }),
    ...(tool === undefined ? {} : { tool }),
    ...(agent === undefined ? {} : { agent }),
    ...(mine === true ? { mine: 'yes' } : {}),
  })
  const found = await callAdmin<{ approvals: readonly ApprovalSummary[] }>(
    options,
    'GET',
    `/v1/approvals?${query}`,
  )
  if (options.json === true) return printJson(found)
  if (found.approvals.length === 0) return print('nothing')
  const rows = found.approvals.map((approval) => [
    approval.approval_id,
    approval.verdict ?? (approval.frozen ? 'halted' : approval.state),
    approval.tool,
    approval.agent,
    `${approval.votes}/${approval.quorum}`,
    approval.deadline.at,
  ])
  for (const line of table([['id', 'state', 'tool', 'agent', 'votes', 'until'], ...rows])) {
    print(plain(line))
  }
}

/** What is shown is what is bound: a document that is not its digest's is never shown. */
async function fetchDetail(id: string, options: Options): Promise<Detail> {
  const path = `/v1/approvals/${encodeURIComponent(id)}`
  const detail = await callAdmin<Detail>(options, 'GET', path)
  if (detail.document !== null && digestOf(detail.document) !== detail.document_digest) {
    throw new Error('the document the gate sent is not the one its digest names: decide nothing')
  }
  return detail
}

const digestOf = (document: Plain): string => jsonDigest(document, nodeCrypto)

function told(detail: Detail): string[] {
  const { document, document_state, deadline, votes, quorum } = detail
  const state = detail.verdict ?? (detail.frozen ? 'halted' : detail.state)
  const rows = [
    ['state', `${state}, ${votes} of ${quorum} approved`],
    ['until', `${deadline.at}; then ${deadline.words}`],
    ['asked', detail.asked.join(', ')],
    ['capsule', detail.capsule_id],
  ]
  return [
    document === null ? `the document is ${document_state}` : shownTwice(document),
    ...table(rows).map(plain),
    `digest ${detail.document_digest}`,
  ]
}

const PREFIX = 12

async function decide(
  id: string,
  seen: string | undefined,
  what: { readonly decision: string; readonly [member: string]: unknown },
  options: Options & Said,
): Promise<void> {
  if (seen !== undefined && !/^[0-9a-f]{12,64}$/.test(seen)) {
    throw new UsageError(`a digest is ${PREFIX} to 64 lower-case hex digits`)
  }
  const detail = await fetchDetail(id, options)
  if (seen !== undefined && !detail.document_digest.startsWith(seen)) {
    throw new Error('what you have read is not what is asked: show it again')
  }
  const { reason } = options
  const answer = await callAdmin<DecisionAnswer>(
    options,
    'POST',
    `/v1/approvals/${encodeURIComponent(id)}/decision`,
    {
      ...what,
      digest: detail.document_digest,
      on: detail.capsule_id,
      ...(reason === undefined ? {} : { reason }),
    },
  )
  if (options.json === true) printJson(answer)
  else print(outcome(answer))
}

function outcome({ state, votes, quorum, repeated }: DecisionAnswer): string {
  const again = repeated ? ' (as before)' : ''
  switch (state) {
    case 'approved':
      return `approved${again}: the identical call runs once`
    case 'pending':
      return `recorded${again}: ${votes} of ${quorum} have approved`
    case 'refused':
      return `refused${again}: the call will not run`
    case 'deferred':
      return `postponed${again}: it stays open`
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError('--bounds is not JSON')
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

function secondsOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,8})([smhd])$/.exec(text) ?? []
  const seconds = Number(count) * (UNITS[unit] ?? 0)
  if (seconds < 1) throw new UsageError(`${text} is no time: 900s, 15m, 4h, 1d`)
  return seconds
}
