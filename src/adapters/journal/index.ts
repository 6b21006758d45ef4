export { JournalError, type JournalErrorCode } from './error.js'
export type { JournalOptions, JournalReport, OpenedJournal, Seams, Verified } from './model.js'
export { openJournal } from './open.js'
export { type ReadLine, type ReadOptions, readJournal } from './read.js'
