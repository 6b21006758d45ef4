import type { Plain } from '../json/value.js'
import type { ApprovalDocument } from './document.js'

/** What is asked of a person, and what their decision will do, in sentences of ours: no word of an agent is in them. */
export function askedInWords(document: ApprovalDocument): readonly string[] {
  const { routed_by: routed, approval_lifts: lifts, holds } = document
  const said: string[] = []
  if (holds === 'session') {
    said.push('The gate has stopped this session. You decide whether it goes on.')
    said.push(
      gapOf(document) === null
        ? 'Its declarations named another mission than its mandate, too often. These calls were refused.'
        : 'What was sent is not what was declared (IDP_COMMITMENT_GAP). It is sent already; below stands the call as it was judged.',
    )
    said.push('Your decision sends nothing. If it goes on, its next calls are judged as ever.')
    return said
  }
  if (routed.kind === 'agent') said.push("The agent itself demands a person's judgement.")
  if (lifts === false) {
    said.push(
      'Approving will not let this call run: policy or a constraint refuses it, whatever is decided.',
    )
    if (routed.kind !== 'agent')
      said.push("You are asked because the agent demands a person's judgement.")
  }
  if (holds === 'call')
    said.push('Its session waits for your decision; no other call of it is sent.')
  return said
}

/** The record of what was sent against what was declared, where that is what people are asked about. */
export function gapOf({
  idp_summary,
}: ApprovalDocument): { readonly [name: string]: Plain } | null {
  const record = member(idp_summary, 'verification_record')
  return isObject(record) ? record : null
}

/** What the agent says of the call, as it wrote it; null where it declared nothing, or nothing that people may read. */
export function agentWords(document: ApprovalDocument): readonly AgentWord[] | null {
  const idp = member(document.idp_summary, 'idp')
  if (!isObject(idp) || isRestricted(document)) return null
  return NAMES.map(([name, said]) => {
    const value = member(idp, name)
    return { name, said, text: value === undefined || value === null ? null : String(value) }
  })
}
/** The agent, or the operator for all, restricted what was declared to external auditors. */
export const isRestricted = ({ idp_summary }: ApprovalDocument): boolean =>
  member(member(idp_summary, 'idp'), 'audit_accessible') === false
export const RESTRICTED_WORDS =
  'What the agent declared is restricted (audit_accessible: false): external auditors alone may read it.'

/** Null: it says nothing of that. */
export type AgentWord = {
  readonly name: string
  readonly said: string
  readonly text: string | null
}

const NAMES = [
  ['declared_goal', 'Its goal'],
  ['reasoning', 'Its reasons'],
  ['reasoning_type', 'Kind of reasons'],
  ['confidence_level', 'How sure it says it is (0 to 1)'],
  ['hem_urgency', 'Does it want a person'],
  ['requested_action', 'What it says it does'],
  ['mission_ref', 'Mission'],
  ['step_sequence', 'Step of its session'],
  ['profile', 'Profile'],
] as const

const isObject = (value: Plain | undefined): value is { readonly [name: string]: Plain } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const member = (value: Plain | undefined, name: string): Plain | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
