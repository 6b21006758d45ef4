/** Writes docs/errors.md from the tables; test/docs holds the page to them. Run after a build. */

import fs from 'node:fs'
import { ERRORS } from '../dist/core/error.js'
import { idpCode, isReject } from '../dist/core/verdict/idp.js'
import { TABLE, UNRECORDED } from '../dist/core/verdict/table.js'
import { decisionOfRow } from '../dist/core/verdict/verdict.js'

let out = `# Errors

Every refusal is \`application/problem+json\` (RFC 9457). Its \`code\` is one of the names below and never
changes its meaning; \`type\` is \`urn:capsule-gate:error:<code>\`. \`dispatched: true\` means that the tool may
have acted. Agents never see policy text, thresholds or policy ids; operators find them in the evidence
of the action (\`capsule-gate evidence show <action_id>\`).

\`deny_message\` holds the operator's own words: the \`@reason\` of the policies that denied the call. It is
there only where such a policy has one, and never under \`deny_detail: code\` in gate.yaml.

Each document has the members of an Enriched DENY (intent-declaration-primitive-01 §6.1): \`result\`, \`deny_code\`,
\`deny_reason\`, \`idp_received\`, \`available_actions\`, \`suggested_paths\`, \`hem_available\` and \`timestamp\`. \`deny_code\` is
the registered code where there is one, else the \`type\`; under \`result: REJECT\` it is in \`error_code\` too, and
\`idp_received\` is \`null\`, because nothing was committed.

## What a call can end as

`
for (const [code, r] of Object.entries(TABLE)) {
  const registered = idpCode(code, '')
  const answer = isReject(code) ? 'REJECT' : 'DENY'
  const known = registered === '' ? '' : `\n\nRegistered code \`${registered}\`, in a \`${answer}\``
  out += `### ${code}\n\n\`${r.verdict}\` · decision \`${decisionOfRow(code)}\` · effect \`${r.effect}\` · status \`${r.status}\`${known}\n\n${r.said} ${r.instead}\n\n`
}
out += `## Answers without a capsule\n\n`
for (const [code, r] of Object.entries(UNRECORDED))
  out += `### ${code}\n\nstatus \`${r.status}\`\n\n${r.said} ${r.instead}\n\n`
out += `## What keeps a gate from starting or a command from working\n\nThese stay on the operator's side: they are printed, never sent.\n\n`
for (const [code, way] of Object.entries(ERRORS)) out += `### ${code}\n\n${way}\n\n`
fs.writeFileSync(new URL('../docs/errors.md', import.meta.url), `${out.trimEnd()}\n`)
