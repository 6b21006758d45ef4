import type { ApprovalDocument } from '../../core/approval/document.js'
import {
  agentWords,
  askedInWords,
  gapOf,
  isRestricted,
  RESTRICTED_WORDS,
} from '../../core/approval/in-words.js'
import { quoted, visible } from '../../core/approval/show.js'
import { exact } from './exact.js'
import { type Html, html } from './html.js'

/** What stands first, where the question is not the usual one. */
export function question(document: ApprovalDocument): Html | null {
  const [first, ...more] = askedInWords(document)
  if (first === undefined) return null
  const { session_id, holds } = document
  const gap = gapOf(document)
  return html`<section class="question"><h2>${holds === 'session' ? 'What you are asked' : 'Before you decide'}</h2>
<p><strong>${first}</strong></p>
${more.map((said) => html`<p${isGrave(said) ? { html: ' class="grave"' } : null}>${said}</p>`)}
${session_id === undefined ? null : html`<dl><dt>Session</dt><dd>${exact(quoted(session_id))}</dd></dl>`}
${gap === null ? null : record(document, gap)}</section>`
}

const isGrave = (said: string): boolean => /IDP_COMMITMENT_GAP|will not let/.test(said)

const FOUND = [
  ['match_result', 'Result'],
  ['basis', 'Compared with'],
  ['verified_at', 'Found at'],
] as const
const SIGNED = [
  ['idp_id', 'Declaration'],
  ['state_transition_id', 'Transition'],
  ['transition_digest', 'Its digest'],
  ['kid', 'Signed with key'],
  ['kernel_signature', 'Signature'],
] as const
const BASES: Readonly<Record<string, string>> = {
  written: 'what the gate itself wrote to the tool',
  judged: 'what was judged: somebody else ran the call',
}

type Gap = NonNullable<ReturnType<typeof gapOf>>

/** The verification record, its result first (seed intent-declaration-primitive-01 §5.5.2). */
function record(document: ApprovalDocument, gap: Gap): Html {
  const declared = agentWords(document)?.find(({ name }) => name === 'requested_action')
  return html`<h3>The gate's verification record</h3><dl>${rows(gap, FOUND)}
${declared?.text == null ? null : html`<dt>Declared action</dt><dd class="quote">${exact(quoted(declared.text))}</dd>`}</dl>
<details><summary>Its ids and its signature</summary><dl>${rows(gap, SIGNED)}</dl></details>`
}

const rows = (gap: Gap, names: readonly (readonly [string, string])[]): readonly Html[] =>
  names.flatMap(([name, said]) => {
    const value = gap[name]
    if (typeof value !== 'string') return []
    const text = name === 'basis' ? (BASES[value] ?? value) : value
    const told =
      name === 'match_result' ? html`<strong>${visible(text)}</strong>` : exact(visible(text))
    return [html`<dt>${said}</dt><dd>${told}</dd>`]
  })

/** The agent's own words: quoted, spelt out like its arguments, and named as unchecked. */
export function agentSays(document: ApprovalDocument): Html | null {
  if (isRestricted(document))
    return html`<section class="agent-says"><h2>What the agent says</h2>
<p class="note">${RESTRICTED_WORDS}</p></section>`
  const words = agentWords(document)
  if (words === null) return null
  return html`<section class="agent-says"><h2>What the agent says</h2>
<p class="note">The agent's own words, quoted. The gate has not checked them: they may be wrong, or written to persuade you.</p>
<dl>${words.map(({ said, text }) => html`<dt>${said}</dt><dd${text === null ? null : { html: ' class="quote"' }}>${text === null ? html`<span class="dim">it does not say</span>` : exact(quoted(text))}</dd>`)}</dl></section>`
}

/** What sent the request to people. */
export function routedInWords({ routed_by: routed }: ApprovalDocument): Html {
  const ids = routed.ids.map(visible).join(', ')
  switch (routed.kind) {
    case 'policy':
    case 'constraint':
      return html`By ${routed.kind} ${ids}.`
    case 'agent':
      return html`By the agent itself: its declaration says that it needs a person (hem_urgency REQUIRED).`
    case 'gate':
      return html`By the gate itself: ${ids}.`
  }
}
