import { visible } from '../../core/approval/show.js'
import type { Principal } from '../../ports/admin.js'
import { type Html, html } from './html.js'
import type { Session } from './session.js'
import { STYLE } from './style.js'

export const sessionPath = ({ pathId }: Pick<Session, 'pathId'>): string =>
  `/approvals/in/${pathId}`

/** A whole page. `refresh` in seconds: without a script, a page that must not go stale asks again itself. */
export function page(
  title: string,
  body: Html,
  { refresh = null, kind = 'page' }: { refresh?: number | null; kind?: 'page' | 'clock' } = {},
): string {
  const meta = refresh === null ? null : html`<meta http-equiv="refresh" content="${refresh}">`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">${meta}
<link rel="icon" href="data:,">
<title>${title}</title><style>${{ html: STYLE }}</style></head>
<body class="${kind}">${body}</body></html>
`.html
}

export const csrfField = ({ csrf }: Pick<Session, 'csrf'>): Html =>
  html`<input type="hidden" name="csrf" value="${csrf}">`

/** Who you are, before anything you could do. */
export const banner = (session: Session): Html => html`<header>
<a href="${sessionPath(session)}">All requests</a>
<span>${saidRoles(session.principal)}</span>
<form method="post" action="${sessionPath(session)}/logout">${csrfField(session)}<button>Sign out</button></form>
</header>`

const saidRoles = ({ name, groups }: Principal): string =>
  groups.length === 0 ? visible(name) : `${visible(name)} (${groups.map(visible).join(', ')})`

export const signInPage = (form: string, item: string | null, problem: string | null): string =>
  page(
    'Sign in: capsule-gate approvals',
    html`<main><h1>Approvals</h1>
${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}
<form method="post" action="/login">
<input type="hidden" name="csrf" value="${form}">
${item === null ? null : html`<input type="hidden" name="item" value="${item}">`}
<input type="text" name="user" value="approver" autocomplete="username" hidden>
<label for="token">Your approver token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required maxlength="512" aria-describedby="hint">
<p id="hint" class="dim">An operator gave it to you. It is yours alone: what you decide is recorded as yours.</p>
<button>Sign in</button></form></main>`,
  )

export const problemPage = (title: string, detail: string, back: string): string =>
  page(
    title,
    html`<main><h1>${title}</h1><p class="bad" role="alert">${visible(detail)}</p>
<p><a href="${back}">Go on</a></p></main>`,
  )
