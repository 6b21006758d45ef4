import { expiryInWords, rolesAt } from '../../core/approval/deadline.js'
import type { ApprovalDocument, ShownArgument } from '../../core/approval/document.js'
import { quoted, shown, visible } from '../../core/approval/show.js'
import type { ShownDocument } from '../../gate/read.js'
import type { Approval } from '../../ports/state.js'
import { agentSays, question, routedInWords } from './declared.js'
import { exact } from './exact.js'
import { type Attempt, decideForms, GRAVE } from './forms.js'
import { type Html, html } from './html.js'
import { banner, page, sessionPath } from './page.js'
import type { Session } from './session.js'
import { left, standing, time, titleOf } from './words.js'

export type ItemView = {
  readonly session: Session
  readonly approval: Approval
  readonly shown: ShownDocument
  /** Why this person cannot decide it here and now; null when they can. */
  readonly hindrance: string | null
  /** What was tried a moment ago and did not go through. */
  readonly attempt: Attempt | null
}

/** One request, whole: what is read here is what a decision is bound to (promise 5). */
export function itemPage(view: ItemView): string {
  const { session, approval, shown: found, hindrance, attempt } = view
  const title = titleOf(approval)
  const document = found.state === 'present' ? found.document : null
  return page(
    `${title}: capsule-gate approvals`,
    html`${banner(session)}<main><h1>${title}</h1>
${attempt === null ? null : html`<p class="bad" role="alert">${visible(attempt.problem)}</p>`}
<p role="status"><strong>${standing(approval)}</strong></p>
${approval.state.kind === 'pending' ? clockFrame(session, approval) : null}
${document === null ? gone(found) : details(document, approval)}
${hindrance === null ? decideForms(session, approval, document, attempt) : html`<p class="note">${hindrance}</p>`}
</main>`,
  )
}

const clockFrame = (session: Session, approval: Approval): Html => {
  const { approvalId, parent, deadline } = approval
  return html`<p>Decide before ${time(deadline.at)}. Otherwise ${endsSession(approval) ? 'the session ends' : expiryInWords(deadline.onExpiry)}.</p>
<iframe src="${sessionPath(session)}/${approvalId}/clock?on=${parent}" title="Time left"></iframe>`
}

/** Undecided at its deadline, a session that was stopped is over, unless others are asked then. */
const endsSession = ({ holds, deadline }: Approval): boolean =>
  holds === 'session' && deadline.onExpiry !== 'escalated'

const CLOCK_SECONDS = 10

/** In a frame of its own, so that renewing it takes no half-written reason away. */
export function clockPage(seen: string | null, approval: Approval, now: number): string {
  const { deadline, state, parent } = approval
  const current = state.kind === 'pending' && (seen === null || seen === parent)
  return page(
    'Time left',
    current
      ? html`<p>${left(Date.parse(deadline.at) - now)} left</p>`
      : html`<p class="note">${standing(approval)}. Load the page again.</p>`,
    { refresh: current ? CLOCK_SECONDS : null, kind: 'clock' },
  )
}

const gone = ({ state }: ShownDocument): Html =>
  html`<p class="note">The request as it was asked cannot be shown: its evidence is ${state}.</p>`

function details(document: ApprovalDocument, approval: Approval): Html {
  const grave = GRAVE.includes(document.irreversibility.class)
  const ofSession = document.holds === 'session'
  return html`${question(document)}
<section><h2>${ofSession ? 'The call that stopped it' : 'Who asks for what'}</h2><dl>
<dt>Agent</dt><dd>${exact(quoted(document.agent))}</dd>
<dt>Its developer</dt><dd>${exact(quoted(document.developer))}</dd>
<dt>For operator</dt><dd>${exact(visible(document.operator))}</dd>
<dt>Tool</dt><dd>${exact(visible(document.tool))}</dd>
<dt>Asked at</dt><dd>${time(document.requested_at)}</dd></dl>
<p${grave ? { html: ' class="grave"' } : null}>The effect <strong>${document.irreversibility.words}</strong> <span class="dim">(${document.irreversibility.class})</span>.</p>
</section>
<section><h2>Exact arguments</h2>
<p class="dim">Written by the agent, quoted: data, not advice. Hidden and reordering characters are spelt \\u{…}; what is more than ASCII stands a second time below, as it is sent.</p>
<dl>${Object.entries(document.arguments).map(([name, argument]) => argumentRow(name, argument))}</dl></section>
${notJudged(document)}
${agentSays(document)}
<section><h2>Why you are asked</h2>
${reason(document)}
<p class="dim">${routedInWords(document)} Asked: ${rolesAt(approval.hitl, approval.rung).map(visible).join(', ')}; ${document.quorum} must approve.</p></section>
<section><h2>${sentTitle(document)}</h2>${request(document)}
<p class="dim">${afterwards(document)}</p></section>
<section><h2>What your decision is bound to</h2><dl>
${digest('This document', approval.documentDigest)}
${digest('Request', document.request_digest)}
${document.request.definition === undefined ? null : digest('How the server describes the tool', document.request.definition)}
${digest('Policies', document.policy_digest)}
${digest('Manifest', document.manifest_digest)}
${digest('Request id', document.approval_id)}</dl>
<p class="dim">The same from a terminal: <code class="digest">capsule-gate approvals show ${document.approval_id}</code></p></section>`
}

/** The operator's own words; where the agent or the gate itself asks, there are none to miss. */
const reason = ({ routed_by: { reason, kind } }: ApprovalDocument): Html | null => {
  if (reason !== null) return html`<p>${visible(reason)}</p>`
  return kind === 'agent' || kind === 'gate' ? null : html`<p>No reason is written down.</p>`
}

function sentTitle({ holds, approval_lifts: lifts }: ApprovalDocument): string {
  if (holds === 'session') return 'The call, as it was judged'
  return lifts === false ? 'What would be sent' : 'What will be sent'
}

function afterwards({ holds, approval_lifts: lifts, on_approval }: ApprovalDocument): string {
  if (holds === 'session') return 'Your decision sends nothing of this.'
  if (lifts === false) return 'As things stand nothing of this is sent, approved or not.'
  return on_approval === 'retry'
    ? 'After approval the agent sends the same call again; anything else is refused.'
    : 'After approval the gate itself sends exactly this.'
}

const argumentRow = (name: string, { type, value }: ShownArgument): Html => {
  const isJson = type === 'object' || type === 'objects'
  return html`<dt>${exact(visible(name))} <span class="dim">${type}</span></dt><dd class="quote">${exact(type === 'string' ? quoted(String(value)) : isJson ? visible(String(value)) : shown(value))}</dd>`
}

/** What goes out with the call although no rule of the operator looked at it. */
function notJudged({ not_judged: passed }: ApprovalDocument): Html | null {
  if (passed === undefined) return null
  const { query, members, body } = passed
  return html`<section><h2>Not judged</h2>
<p class="grave">Sent with the call, and checked by nothing: look at it yourself.</p>
<dl>${query.map(([name, value]) => html`<dt>${exact(visible(name))} <span class="dim">query</span></dt><dd class="quote">${exact(quoted(value))}</dd>`)}
${members.map((pointer) => html`<dt>${exact(visible(pointer))} <span class="dim">body</span></dt><dd>below, in the body</dd>`)}
${body ? html`<dt>The whole body</dt><dd>below</dd>` : null}</dl></section>`
}

function request({ request: sent }: ApprovalDocument): Html {
  const { method, upstream, target, headers, octets, body, more } = sent
  const line = method === null ? null : `${method} ${target ?? ''}`
  return html`<dl>${line === null ? null : html`<dt>Request</dt><dd>${exact(visible(line))}</dd><dt>To</dt><dd>${exact(visible(upstream ?? ''))}</dd>`}
${headers.map(([name, value]) => html`<dt>${visible(name)}</dt><dd>${exact(quoted(value))}</dd>`)}
${more === undefined ? null : html`<dt>Beside the arguments</dt><dd class="quote">${exact(visible(more))}</dd>`}
<dt>Body</dt><dd>${body === null ? `${octets.length} octets, no text a person could read; sha256 ${octets.digest}` : html`${octets.length} octets<div class="quote">${exact(visible(body))}</div>`}</dd></dl>`
}

const digest = (name: string, value: string): Html =>
  html`<dt>${name}</dt><dd><code class="digest">${value}</code></dd>`
