import type { Agent } from '../../core/call/agent.js'
import type { RuntimeReport } from '../../core/runtime/report.js'
import type { Problem } from '../../core/verdict/problem.js'
import type { Refusal } from '../answer/answer.js'
import type { Parts } from '../context.js'
import { type ActionLines, findAction } from '../find-action.js'
import type { OpenPermit, PermitEnd, Permits } from './permits.js'
import { recordUngated } from './ungated.js'
import type { UngatedLimit } from './ungated-limit.js'

export type Reported =
  /** It ended the permit, and the capsule says what was reported. */
  | {
      readonly kind: 'recorded'
      readonly actionId: string
      readonly verdict: string
      readonly capsuleId: string
    }
  /** The action is concluded already, or somebody is at it; the capsule is null while there is none. */
  | { readonly kind: 'over'; readonly actionId: string; readonly capsuleId: string | null }
  /** No permit covers it: recorded as that. */
  | Refusal
  /** The agent has made too many such reports: counted, not recorded. */
  | { readonly kind: 'too_many' }
  /** The record could not be written. */
  | { readonly kind: 'unrecorded'; readonly problem: Problem }

/**
 * What a runtime reports of an act. The first report of an open permit ends it. One that names no permit of this
 * agent is recorded too, because it says that somebody acted; an action of another agent is answered exactly as an
 * unknown one, so that ids cannot be probed.
 */
export async function takeReport(
  actionId: string,
  agent: Agent,
  report: RuntimeReport,
  parts: Parts,
  { permits, limit }: { readonly permits: Permits; readonly limit: UngatedLimit },
): Promise<Reported> {
  const open = permits.find(actionId, agent.agent)
  if (open !== null) return conclude(actionId, open, report)
  const own = ownLines(await findAction(actionId, parts), agent.agent)
  if (own !== null && wasSent(own)) {
    return { kind: 'over', actionId, capsuleId: own.concluded?.capsule.capsule_id ?? null }
  }
  if (!limit.take(agent.agent)) return { kind: 'too_many' }
  const decisionId = own?.concluded?.capsule['dev.capsulegate.decision_id'] ?? null
  return recordUngated({ actionId, agent, report, decisionId }, parts)
}

async function conclude(
  actionId: string,
  { end, concluded }: OpenPermit,
  { ok, claimed }: RuntimeReport,
): Promise<Reported> {
  const said: PermitEnd = { kind: 'claimed', ok, ...(claimed === null ? {} : { said: claimed }) }
  const first = end(said)
  const answer = await concluded
  if (answer.kind === 'replayed') throw new TypeError('a claimed result is never stored')
  if (!first) {
    const capsuleId = answer.kind === 'unrecorded' ? null : answer.capsuleId
    return { kind: 'over', actionId, capsuleId }
  }
  if (answer.kind === 'unrecorded') return { kind: 'unrecorded', problem: answer.problem }
  const { verdict, capsuleId } = answer
  return { kind: 'recorded', actionId, verdict, capsuleId }
}

function ownLines(lines: ActionLines | null, agent: string): ActionLines | null {
  const whose = lines?.dispatched?.agent ?? lines?.concluded?.about?.agent
  return whose === agent ? lines : null
}

/** A dispatch line alone does not say so: what ended before the first byte, or before a permit, has no effect. */
const wasSent = ({ dispatched, concluded }: ActionLines): boolean =>
  dispatched !== null && (concluded === null || concluded.capsule.effect !== undefined)
