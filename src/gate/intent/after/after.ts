import type { ConstraintRecord } from '../../../core/capsule/model.js'
import { plainEntry } from '../../../core/journal/entry.js'
import type { EvidencePart } from '../../../ports/evidence.js'
import type { JournalEntry } from '../../../ports/journal.js'
import type { Known, Parts } from '../../context.js'
import type { Ending, Refused, Sent } from '../../govern/exit.js'
import type { Following } from '../../write-capsule.js'
import { isMatched } from '../is-matched.js'
import { escalate, gapRecord } from './escalate.js'
import { transitionEntries } from './transition.js'

/** What the end of a declared call brings beside its capsule (§5.3, §5.5). */
export type After = {
  readonly entries: readonly JournalEntry[]
  readonly records: readonly ConstraintRecord[]
  readonly evidence: readonly EvidencePart[]
  readonly following: Following | null
}

const NOTHING: After = { entries: [], records: [], evidence: [], following: null }

export function afterOf(ending: Ending, parts: Parts): After {
  switch (ending.exit) {
    case 'asked':
      return NOTHING
    case 'sent':
      return ending.commitment === null ? NOTHING : afterSent(ending, parts)
    case 'refused':
      return afterRefused(ending, parts)
  }
}

function afterSent(sent: Sent, parts: Parts): After {
  const { known } = sent
  const entries = transitionEntries(sent, parts)
  const gap = entries.find(({ type }) => type === 'IDP_COMMITMENT_GAP')
  if (known.intent === null || gap?.type !== 'IDP_COMMITMENT_GAP') return { ...NOTHING, entries }
  const { record } = gap.members
  const { intent } = known.intent
  const { entry, part } = gapRecord(record, parts)
  const detail = `session ${intent.sessionId}: what was sent is not what was declared`
  parts.report({ level: 'error', event: 'idp_commitment_gap', actionId: known.actionId, detail })
  const following = escalate(known, { why: 'commitment_gap', intent }, record, parts)
  return { entries, records: [entry], evidence: [part], following }
}

function afterRefused({ known, code, beside = [], escalation }: Refused, parts: Parts): After {
  const denied = code === 'policy_denied' ? deniedEntry(known, parts) : []
  const following =
    escalation === undefined || !isMatched(known) ? null : escalate(known, escalation, null, parts)
  return { ...NOTHING, entries: [...beside, ...denied], following }
}

function deniedEntry({ intent, actionId, rule }: Known, parts: Parts): readonly JournalEntry[] {
  if (intent == null || rule === undefined) return []
  const { idpId, sessionId, soId, step } = intent.intent
  return [
    plainEntry('CEDAR_DENY_RECORDED', {
      event_id: parts.ids.actionId(),
      action_id: actionId,
      idp_id: idpId,
      session_id: sessionId,
      so_id: soId,
      step_sequence: step,
      cedar_action: rule.action,
      deny_code: 'POLICY_DENY',
    }),
  ]
}
