import { writeFileSync } from '../../adapters/disk/files.js'
import { openCapsuleFiles } from '../../adapters/journal/index/capsule-files.js'
import { VERDICT_CLASSES } from '../../core/capsule/registries.js'
import { type Line, readLine } from '../../core/journal/vocabulary.js'
import { statementOf } from '../../gate/operate/prove.js'
import { publicLine } from '../../mounts/admin/public-line.js'
import type { CapsuleEntry, CapsuleFilter, CapsuleList, JournalLine } from '../../ports/journal.js'
import { painter, plain, print, printJson, printResult, UsageError } from '../output/print.js'
import { ledgerFiles, readAll } from './files.js'

type Filter = Partial<Record<'verdict' | 'tool' | 'agent' | 'decision' | 'since', string>>
type ListOptions = Filter & { data: string; json?: boolean }

const PAGE = 500

/** Oldest first, as they are found: a long ledger prints from the start. */
export async function list(options: ListOptions): Promise<void> {
  const filter = filterOf(options)
  const show = printer(options)
  const ledger = await openCapsuleFiles((await ledgerFiles(options.data)).dir)
  for (let next: number | null = 0; next !== null; ) {
    const page: CapsuleList<JournalLine> = await ledger.list(filter, { after: next, limit: PAGE })
    for (const entry of page.entries) show(entry)
    next = page.next
  }
}

/** The last few, then with --follow those that are written, until a signal. */
export async function tail(
  options: ListOptions & { lines: string; follow?: boolean },
): Promise<void> {
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  const limit = Number(options.lines)
  if (!Number.isSafeInteger(limit) || limit < 0) throw new UsageError('--lines: a whole number')
  const filter = filterOf(options)
  const show = printer(options)
  const ledger = await openCapsuleFiles((await ledgerFiles(options.data)).dir)
  const last = limit === 0 ? null : await ledger.list(filter, { before: null, limit })
  for (const entry of last?.entries.toReversed() ?? []) show(entry)
  if (options.follow !== true) return
  for await (const entry of ledger.follow(filter, stop.signal)) show(entry)
}

/** One action or capsule, and what supersedes it, is decided with it or came of it. */
export async function showOne(
  id: string,
  options: { data: string; json?: boolean; cose?: string },
): Promise<void> {
  const related = new Set([id])
  const found: Line[] = []
  for await (const { line: raw } of readAll(await ledgerFiles(options.data))) {
    const line = readLine(raw)
    if (line === null || !names(line).some((name) => related.has(name))) continue
    found.push(line)
    for (const name of own(line)) related.add(name)
  }
  if (found.length === 0) throw new UsageError(`no action or capsule ${plain(id)} in the ledger`)
  if (options.cose !== undefined) {
    const capsules = found.filter((line) => line.type === 'CAPSULE')
    const line = capsules.find((capsule) => own(capsule).includes(id))
    if (line === undefined) throw new UsageError(`${plain(id)} has no capsule yet`)
    writeFileSync(options.cose, statementOf(line))
    return
  }
  const lines = found.map(publicLine)
  printResult(options, { lines }, () =>
    lines.flatMap((line) => JSON.stringify(line, null, 2).split('\n').map(plain)),
  )
}

/** Ids a line is itself. */
function own(line: Line): string[] {
  if (line.type === 'CAPSULE') return [line.capsule.action_id, line.capsule.capsule_id]
  return line.type === 'ACTION_DISPATCHED' || line.type === 'REPLAYED' ? [line.action_id] : []
}

/** Ids a line is itself or points to. */
function names(line: Line): string[] {
  if (line.type !== 'CAPSULE') return own(line)
  const { capsule } = line
  return [
    ...own(line),
    capsule['dev.capsulegate.decision_id'],
    capsule['dev.capsulegate.outcome_of'],
    capsule.chain?.parent_capsule_id,
  ].filter((id) => id !== undefined)
}

function filterOf({ verdict, tool, agent, decision, since }: Filter): CapsuleFilter {
  if (verdict !== undefined && !(VERDICT_CLASSES as readonly string[]).includes(verdict)) {
    throw new UsageError(`no verdict ${plain(verdict)}; there are ${VERDICT_CLASSES.join(', ')}`)
  }
  return { verdict, tool, agent, decision, from: since === undefined ? undefined : sinceOf(since) }
}

const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

function sinceOf(text: string): string {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const at =
    count === undefined
      ? Date.parse(text)
      : Date.now() - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
  if (Number.isNaN(at)) throw new UsageError(`--since ${plain(text)}: a time, or 15m, 24h, 7d`)
  return new Date(at).toISOString()
}

const WIDEST = Math.max(...VERDICT_CLASSES.map(({ length }) => length))
const RED = new Set(['blocked', 'denied', 'errored', 'engine_failure', 'timeout'])

function printer({ json }: ListOptions): (entry: CapsuleEntry<JournalLine>) => void {
  const paint = painter(process.stdout)
  const verdict = (name: string): string => {
    const colour = name === 'executed' ? 'green' : RED.has(name) ? 'red' : 'yellow'
    return paint(colour, plain(name).padEnd(WIDEST))
  }
  return ({ line: raw, ...shown }) => {
    const line = readLine(raw)
    if (line?.type !== 'CAPSULE') return
    const { capsule } = line
    if (json === true) return printJson({ ...shown, capsule })
    const cells = [
      shown.at,
      verdict(capsule.disposition.verdict_class),
      capsule.disposition.human_disposed ? 'human ' : 'policy',
      (capsule.effect?.status ?? '-').padEnd(10),
      capsule.action_id,
      plain(shown.agent ?? capsule.developer),
      plain(shown.tool ?? '-'),
    ]
    print(cells.join('  '))
  }
}
