/** docs/journal.md from the vocabulary, for the script that writes it and the test that compares it. */

const memberRows = (members, shown, prefix = '') =>
  Object.entries(members).flatMap(([name, member]) => {
    const optional = 'optional' in member
    const shape = optional ? member.optional : member
    const path = `${prefix}${name}`
    const seen = prefix === '' && shown.includes(name) ? 'yes' : ''
    return `| \`${path}\` | ${shape.says.replaceAll('|', '\\|')} | ${optional ? 'no' : 'yes'} | ${seen} |`
  })

export function journalPage(LINES) {
  let out = `# Journal lines

The journal is JSON Lines: one object a line, ended by LF, in segments of one folder. Every line begins with the same
envelope, in this order and without spaces: \`v\` (2; lines of 0.1 have 1), \`origin\` (the gate), \`seq\` (from 1, without gaps), \`prev\` (the
RFC 6962 leaf hash of the line before it, hex SHA-256(0x00 ‖ line without LF); 64 zeros for the first), \`at\` (RFC 3339
UTC, never going back) and \`type\`. The members of the type follow.

A line of a type below that lacks a required member, or has one of another kind, is not obeyed: the gate does not start
on it. Members that are not listed are kept, and types that are not listed are passed over, because a later version may
write them. **Signed** types also have \`kid\` (hex) and \`sig\` (base64url): Ed25519 by the gate's event key over
\`capsule-gate/event/v1\` LF and the JCS of all members of the line but \`v\`, \`seq\`, \`prev\`, \`at\`, \`kid\` and \`sig\`.
Numbers are integers up to 2^53 − 1. [verify.md](verify.md#the-rules-for-a-checker-of-your-own) has the rules between lines. *Public* members are those that viewers get on
\`GET /v1/events\`; all others stay with readers of the files.

This page is made from \`src/core/journal/vocabulary.ts\` (\`node scripts/write-journal-page.mjs\`).

`
  for (const [type, { signed, says, members, shown }] of Object.entries(LINES)) {
    out += `## ${type}\n\n${signed ? '**Signed.** ' : ''}${says}\n\n`
    out += '| member | is | required | public |\n|---|---|---|---|\n'
    out += `${memberRows(members.members ?? {}, shown).join('\n')}\n\n`
  }
  return `${out.trimEnd()}\n`
}
