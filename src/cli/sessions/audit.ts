import type { Command } from 'commander'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { auditLine, type SessionAudit } from '../../core/intent/audit/model.js'
import { auditDigest, auditText } from '../../core/intent/audit/session-audit.js'
import { createSessionAudits } from '../../core/intent/audit/sessions.js'
import { type LineOf, readLine } from '../../core/journal/vocabulary.js'
import { folderOptions } from '../access/data-folder.js'
import { ledgerFiles, readAll } from '../ledger/files.js'
import { EXIT, plain, printResult, UsageError } from '../output/print.js'

type Options = { data: string; json?: boolean }
type Audited = {
  readonly audit: SessionAudit
  readonly digest: string
  /** The signed line about it; null: the session is open, or its line is still to be written. */
  readonly line: LineOf<'SESSION_AUDITED'> | null
}

const HELP = `
The record is made from the lines of the journal, read beside a running gate, and compared with the digest that the
gate signed when the session was closed. Exit codes: 0 the same, 1 another, 3 no line says one yet.
The signatures themselves are checked by \`capsule-gate ledger verify\`.`

/** `sessions audit`: what a session was, from the journal alone. */
export function registerAudit(sessions: Command): void {
  folderOptions(sessions.command('audit').description('what a session was, from its lines'))
    .argument('<id>', 'session_id')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (id: string, options: Options) => {
      const found = await auditOf(id, options.data)
      const { audit, digest, line } = found
      printResult(options, { record: JSON.parse(auditText(audit)), digest, line }, () =>
        describe(found),
      )
      process.exitCode = exitOf(found)
    })
}

async function auditOf(id: string, data: string): Promise<Audited> {
  const audits = createSessionAudits(nodeCrypto)
  let audit: SessionAudit | null = null
  let line: Audited['line'] = null
  for await (const { line: raw } of readAll(await ledgerFiles(data))) {
    const read = readLine(raw)
    if (read === null) continue
    if (read.type === 'SESSION_AUDITED' && read.session_id === id) line = read
    for (const ended of audits.add(auditLine(read))) {
      if (ended.audit.session_id === id) audit = ended.audit
    }
  }
  audit ??= audits.open(id)
  if (audit === null)
    throw new UsageError(`no session ${plain(id)} in the journal of ${plain(data)}`)
  return { audit, digest: auditDigest(audit, nodeCrypto), line }
}

function exitOf({ digest, line }: Audited): number {
  if (line === null || !line.whole) return EXIT.incomplete
  return line.audit_digest === digest ? EXIT.ok : EXIT.failed
}

function describe({ audit, digest, line }: Audited): string[] {
  const { session_id, agent, opened_at, closed_at, why, verdicts, submitted, restricted } = audit
  const says = (value: string | null): string => (value === null ? '-' : plain(value))
  const signed =
    line === null
      ? 'no line says it yet'
      : !line.whole
        ? `line ${line.seq} says one of a part of the session`
        : line.audit_digest === digest
          ? `signed in line ${line.seq}`
          : `line ${line.seq} says another: ${line.audit_digest}`
  return [
    `session ${plain(session_id)} of ${says(agent)}`,
    `  opened ${says(opened_at)}, closed ${says(closed_at)} (${says(why)})`,
    `  ${submitted.count} declarations, ${audit.matches} verified, ${audit.gaps.length} gaps, ${audit.mismatches} of another mission`,
    `  verdicts: ${
      Object.entries(verdicts)
        .map(([verdict, count]) => `${plain(verdict)} ${count}`)
        .join(', ') || 'none'
    }`,
    ...audit.approvals.map(
      ({ approval_id, outcome }) => `  approval ${plain(approval_id)}: ${plain(outcome)}`,
    ),
    `  restricted declarations: ${restricted.length === 0 ? 'none' : restricted.map(plain).join(', ')}`,
    `  record ${digest}: ${signed}`,
  ]
}
