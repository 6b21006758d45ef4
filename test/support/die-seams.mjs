/**
 * The recording thread ends in the middle of a write, once the file named in `?file=` is there: an error nobody
 * catches, its orders unanswered.
 */
import { existsSync } from 'node:fs'

const file = new URL(import.meta.url).searchParams.get('file')

export const journalSeams = {
  before_write() {
    if (!existsSync(file)) return undefined
    setImmediate(() => {
      throw new Error('the thread dies')
    })
    return new Promise(() => {})
  },
}
