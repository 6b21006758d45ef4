import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import type { Agent } from '../../core/call/agent.js'
import type { RuntimeReport } from '../../core/runtime/report.js'
import { type Refusal, refusal, type Unrecorded, unrecorded } from '../answer/answer.js'
import type { Parts } from '../context.js'
import { claimedPart, reasonPart } from '../evidence/parts.js'
import { writeCapsule } from '../write-capsule.js'

export type Ungated = {
  /** As the runtime named it; there may be no such action. */
  readonly actionId: string
  readonly agent: Agent
  readonly report: RuntimeReport
  /** Of an action of this agent's that was not let run; else null. */
  readonly decisionId: string | null
}

const CODE = 'ungated_report'

/**
 * A runtime says that it acted, and nothing let it. Informational: the gate decided nothing before the act, saw no
 * request and applied no rule, so the capsule names no constraint, policy or mode. Which action it named and what
 * it claims is private, and bound by a salted digest.
 */
export async function recordUngated(
  { actionId: reported, agent, report, decisionId }: Ungated,
  parts: Parts,
): Promise<Refusal | Unrecorded> {
  const { crypto, journal } = parts
  const { operator } = parts.world()
  const actionId = parts.ids.actionId()
  const timestamp = journal.timestamp()
  const said = claimedPart(report.ok, report.claimed, parts, { action_id: reported })
  const reason = reasonPart(CODE, { code: CODE }, parts)
  const input = {
    identity: {
      action_id: actionId,
      action_type: 'fyi',
      operator,
      developer: agent.developer,
      timestamp,
    },
    verdict: {
      kind: 'ungated',
      effect: {
        type: 'dev.capsulegate.ungated',
        // Nobody has said what the tool can do: the class of a tool whose manifest does not say either.
        irreversibility_class: 'one_way_consequential',
        request_digest: said.digest,
        request_octets: { alg: 'sha-256', digest: hex(crypto.sha256(utf8(''))), length: 0 },
      },
      reason_digest: reason.digest,
    },
    constraints: [],
    extensions: { 'dev.capsulegate.decision_id': decisionId ?? actionId },
  } as const
  try {
    const capsule = await writeCapsule(
      input,
      {
        evidence: { actionId, operator, subject: null, at: timestamp, parts: [said, reason] },
        about: { agent: agent.agent },
        reportDigest: said.digest,
      },
      parts,
    )
    parts.report({ level: 'warn', event: CODE, actionId })
    const ids = { actionId, capsuleId: capsule.capsule_id }
    return refusal(CODE, ids, { reported_action: reported }, agent)
  } catch (error) {
    parts.report({ level: 'error', event: 'capsule_not_written', actionId, detail: String(error) })
    return unrecorded('record_unavailable', actionId, agent)
  }
}
