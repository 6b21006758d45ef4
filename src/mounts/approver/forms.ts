import type { ApprovalDocument } from '../../core/approval/document.js'
import type { Approval } from '../../ports/state.js'
import { type Html, html } from './html.js'
import { csrfField, sessionPath } from './page.js'
import type { Session } from './session.js'

/** A form that did not go through: what was written in it is shown again. */
export type Attempt = {
  readonly problem: string
  readonly decision: string
  readonly reason: string
}

/** From here on an approval is ticked as well as pressed. */
export const GRAVE: readonly string[] = ['one_way_consequential', 'one_way_terminal']

/** Letting a session go on that the gate has stopped is grave, whatever its call was. */
export const mustTick = ({ irreversibility, holds }: ApprovalDocument): boolean =>
  holds === 'session' || GRAVE.includes(irreversibility.class)

const OF_CALL = {
  deny: 'Refuse',
  why: 'Why not? (needed)',
  keep: 'Keep it open for',
  later: 'Undecided by then, nothing is sent and the request ends as expired.',
  approve: 'Approve',
} as const
const OF_SESSION = {
  deny: 'End the session',
  why: 'Why? (needed)',
  keep: 'Keep the session stopped for',
  later: 'Undecided by then, the session ends.',
  approve: 'Let the session go on',
} as const

const LATER = [
  [900, '15 minutes'],
  [3600, 'one hour'],
  [14_400, '4 hours'],
  [86_400, 'one day'],
] as const

/** Refusing comes first and approving last, in reading and in tab order; nothing is focused. */
export function decideForms(
  session: Session,
  approval: Approval,
  document: ApprovalDocument | null,
  attempt: Attempt | null,
): Html {
  const form = (decision: string, label: string, fields: Html): Html =>
    html`<section class="decide ${decision}"><form method="post" action="${sessionPath(session)}/${approval.approvalId}/decision" autocomplete="off">
${csrfField(session)}<input type="hidden" name="digest" value="${approval.documentDigest}">
<input type="hidden" name="on" value="${approval.parent}">
<input type="hidden" name="decision" value="${decision}">${fields}<button>${label}</button></form></section>`
  const reason = (decision: string, label: string, required: boolean): Html => {
    const kept = attempt?.decision === decision ? attempt.reason : ''
    return html`<label for="reason-${decision}">${label}</label>
<textarea id="reason-${decision}" name="reason" rows="2" maxlength="2000"${required ? { html: ' required' } : null}>${kept}</textarea>`
  }
  const words = approval.holds === 'session' ? OF_SESSION : OF_CALL
  const refuse = form('deny', words.deny, reason('deny', words.why, true))
  const later = form(
    'defer',
    'Decide later',
    html`<label for="ttl">${words.keep}</label>
<select id="ttl" name="ttl_seconds">${LATER.map(([seconds, words]) => html`<option value="${seconds}">${words}</option>`)}</select>
<p class="dim">${words.later}</p>`,
  )
  return html`<h2>Your decision</h2>${refuse}${later}${document === null ? null : form('approve', words.approve, html`${unlifted(document)}${reason('approve', 'Note (optional)', false)}${confirm(document)}`)}`
}

const unlifted = ({ approval_lifts: lifts }: ApprovalDocument): Html | null =>
  lifts === false
    ? html`<p class="grave">Even if you approve, the call will not run: it is refused when the agent sends it again, and its session goes on.</p>`
    : null

function confirm(document: ApprovalDocument): Html | null {
  if (!mustTick(document)) return null
  const said =
    document.holds === 'session'
      ? 'I have read why it was stopped. Its next calls will be judged, and sent where they are permitted.'
      : `I have read the arguments. This ${document.irreversibility.words}.`
  return html`<label class="check"><input type="checkbox" name="confirm" value="yes" required><span>${said}</span></label>`
}
