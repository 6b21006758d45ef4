import type { Approval } from '../../ports/state.js'
import { type Html, html } from './html.js'
import { banner, page, sessionPath } from './page.js'
import type { Session } from './session.js'
import { left, standing, time, titleOf } from './words.js'

const REFRESH_SECONDS = 20
const MOST_ENDED = 25

/** What waits for you, the most pressing first. Nothing is decided from a list. */
export function inboxPage(
  session: Session,
  { open, ended, now }: { open: readonly Approval[]; ended: readonly Approval[]; now: number },
): string {
  const waiting = open
    .filter(({ state }) => state.kind === 'pending')
    .sort((a, b) => Date.parse(a.deadline.at) - Date.parse(b.deadline.at))
  const approved = open.filter(({ state }) => state.kind === 'approved')
  const past = [...approved, ...ended.slice(-MOST_ENDED)].reverse()
  return page(
    `${waiting.length} waiting: capsule-gate approvals`,
    html`${banner(session)}<main><h1>${waiting.length === 0 ? 'Nothing waits for you' : `Waiting for a decision: ${waiting.length}`}</h1>
${waiting.map((approval) => item(approval, session, now))}
${past.length === 0 ? null : html`<h2>Decided</h2>${past.map((approval) => item(approval, session, now))}`}
<p class="dim">This list renews itself every ${REFRESH_SECONDS} seconds.</p></main>`,
    { refresh: REFRESH_SECONDS },
  )
}

function item(approval: Approval, session: Session, now: number): Html {
  const { approvalId, deadline, state, openedAt } = approval
  const due =
    state.kind === 'pending'
      ? html`<p>Ends in ${left(Date.parse(deadline.at) - now)}, at ${time(deadline.at)}</p>`
      : null
  return html`<div class="item"><p><a href="${sessionPath(session)}/${approvalId}">${titleOf(approval)}</a></p>
<p class="dim">${standing(approval)}. Asked at ${time(openedAt)}</p>${due}</div>`
}
