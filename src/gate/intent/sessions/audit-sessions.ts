import { utf8 } from '../../../core/bytes/text.js'
import { auditLine } from '../../../core/intent/audit/model.js'
import { auditDigest, auditText } from '../../../core/intent/audit/session-audit.js'
import { createSessionAudits, type Ended } from '../../../core/intent/audit/sessions.js'
import { type Line, readLine } from '../../../core/journal/vocabulary.js'
import type { Parts } from '../../context.js'
import type { Backlog } from '../../evidence/watch.js'
import { signed } from '../../signed-event.js'

export type SessionAuditor = {
  /** Resolves when all lines so far were read and the records of closed sessions are durable. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/**
 * Writes the audit record of each session that is closed, whoever closed it: the record among the public documents,
 * then its line. The journal is read from its beginning in the background, so that a session which was open at a
 * restart has its whole record, and one whose line a crash prevented has it after all.
 */
export function auditSessions(parts: Parts, { lines, rest }: Backlog): SessionAuditor {
  const { journal, evidence, crypto, report } = parts
  const audits = createSessionAudits(crypto)
  /** Ended, and no line says so yet. */
  const due = new Map<string, Ended>()
  const writing = new Set<Promise<void>>()
  let next = 0
  let newest = journal.head().seq
  let caughtUp = false
  let stopped = false

  const failed = (error: unknown): void => {
    const detail = error instanceof Error ? error.message : String(error)
    report({ level: 'error', event: 'session_not_audited', detail })
  }

  function take(line: Line): void {
    if (line.seq < next) return
    next = line.seq + 1
    if (line.type === 'SESSION_AUDITED') due.delete(line.session_id)
    for (const ended of audits.add(auditLine(line))) due.set(ended.audit.session_id, ended)
  }

  async function write({ audit, whole }: Ended): Promise<void> {
    const audit_digest = auditDigest(audit, crypto)
    await evidence.putPublic(audit_digest, utf8(auditText(audit)))
    const { session_id } = audit
    await journal.append([signed('SESSION_AUDITED', { session_id, whole, audit_digest }, parts)])
  }

  function writeDue(): void {
    if (stopped) return
    for (const ended of due.values()) {
      const written = write(ended)
        .catch(failed)
        .finally(() => writing.delete(written))
      writing.add(written)
    }
    due.clear()
  }

  const unsubscribe = parts.subscribe((line) => {
    newest = line.seq
    if (!caughtUp) return
    take(line)
    if (due.size > 0) writeDue()
  })

  async function run(): Promise<void> {
    let from = lines()
    while (!caughtUp) {
      for await (const raw of from) {
        if (stopped) return
        const line = readLine(raw)
        if (line !== null) take(line)
        next = Math.max(next, raw.seq + 1)
        const resting = rest()
        if (resting !== null) await resting
      }
      caughtUp = newest < next
      if (!caughtUp) from = journal.lines(next)
    }
    writeDue()
  }
  const running = run().catch((error: unknown) => {
    if (!stopped) failed(error)
  })

  return {
    async settled() {
      await running
      while (writing.size > 0) await Promise.all(writing)
    },
    async stop() {
      stopped = true
      unsubscribe()
      await running
      await Promise.all(writing)
    },
  }
}
