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
  const refuse = form('deny', 'Refuse', reason('deny', 'Why not? (needed)', true))
  const later = form(
    'defer',
    'Decide later',
    html`<label for="ttl">Keep it open for</label>
<select id="ttl" name="ttl_seconds">${LATER.map(([seconds, words]) => html`<option value="${seconds}">${words}</option>`)}</select>
<p class="dim">Undecided by then, nothing is sent and the request ends as expired.</p>`,
  )
  return html`<h2>Your decision</h2>${refuse}${later}${document === null ? null : form('approve', 'Approve', html`${reason('approve', 'Note (optional)', false)}${confirm(document)}`)}`
}

const confirm = ({ irreversibility }: ApprovalDocument): Html | null =>
  GRAVE.includes(irreversibility.class)
    ? html`<label class="check"><input type="checkbox" name="confirm" value="yes" required><span>I have read the arguments. This ${irreversibility.words}.</span></label>`
    : null
