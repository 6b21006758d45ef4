import { readFileSync } from '../../adapters/disk/files.js'
import { UsageError } from '../output/print.js'

/** A file that an option or argument names; `what` it is goes before its path in the message. */
export function readGiven(path: string, what = ''): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new UsageError(`cannot read ${what}${path}: ${(error as Error).message}`)
  }
}

/** What an option gives as JSON, or what a server answered. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
