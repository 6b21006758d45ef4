export type { JournalOptions, JournalReport, OpenedJournal, Seams } from './model.js'
export { openJournal } from './open.js'
export { type ReadLine, type ReadOptions, readJournal } from './read.js'
