/** Writes docs/journal.md from the vocabulary; test/docs holds the page to it. Run after a build. */

import fs from 'node:fs'
import { LINES } from '../dist/core/journal/vocabulary.js'
import { journalPage } from './journal-page.mjs'

fs.writeFileSync(new URL('../docs/journal.md', import.meta.url), journalPage(LINES))
