import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { LINES } from '../../src/core/journal/vocabulary.js'

const ROOT = join(import.meta.dirname, '..', '..')

it('docs/journal.md is what the vocabulary says', async () => {
  const { journalPage } = (await import('../../scripts/journal-page.mjs' as string)) as {
    journalPage(lines: typeof LINES): string
  }
  expect(readFileSync(join(ROOT, 'docs', 'journal.md'), 'utf8')).toBe(journalPage(LINES))
})
