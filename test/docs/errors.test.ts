import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { ERRORS } from '../../src/core/error.js'
import { idpCode, isReject } from '../../src/core/verdict/idp.js'
import { type Code, TABLE, UNRECORDED } from '../../src/core/verdict/table.js'
import { decisionOfRow } from '../../src/core/verdict/verdict.js'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'errors.md'), 'utf8')
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
)

describe('docs/errors.md', () => {
  it('has a section for every code and no other', () => {
    expect([...sections.keys()]).toEqual([
      ...Object.keys(TABLE),
      ...Object.keys(UNRECORDED),
      ...Object.keys(ERRORS),
    ])
  })

  it.each(Object.entries(TABLE))('says of %s what the table says', (code, row) => {
    const section = sections.get(code)
    expect(section).toContain(
      `\`${row.verdict}\` · decision \`${decisionOfRow(code as Code)}\` · effect \`${row.effect}\` · status \`${row.status}\``,
    )
    expect(section?.replace(/\s+/g, ' ')).toContain(`${row.said} ${row.instead}`)
    const registered = idpCode(code, '')
    const answer = isReject(code) ? 'REJECT' : 'DENY'
    if (registered === '') expect(section).not.toContain('Registered code')
    else expect(section).toContain(`Registered code \`${registered}\`, in a \`${answer}\``)
  })

  it.each(Object.entries(UNRECORDED))('says of %s that there is no capsule', (code, row) => {
    expect(sections.get(code)).toContain(`status \`${row.status}\``)
  })
})
