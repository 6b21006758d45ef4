import { sentAs } from '../../core/approval/show.js'
import { type Html, html } from './html.js'

/** What is more than ASCII stands below a second time, as it is sent. */
export function exact(text: string): Html {
  const sent = sentAs(text)
  const first = html`<bdi class="exact">${text}</bdi>`
  if (sent === null) return first
  return html`${first}<span class="dim">${sent.said}</span><bdi class="exact sent">${sent.text}</bdi>`
}
