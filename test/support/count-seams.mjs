/** Writes an octet to the file named in `?file=` for each time the journal waits for the disk. */
import { appendFileSync } from 'node:fs'

const file = new URL(import.meta.url).searchParams.get('file')

export const journalSeams = {
  before_sync: () => appendFileSync(file, '.'),
}
