export { JournalError, type JournalErrorCode } from './error.js'
export type { JournalOptions, JournalReport, OpenedJournal, Seams, Verified } from './model.js'
export { openJournal } from './open.js'
