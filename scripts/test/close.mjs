/** Prints the closing lines of a run, or of several together, and sets the exit code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { closingOf } from './summary.mjs'

const ALLOWED = join(import.meta.dirname, '..', '..', 'test', 'may-be-skipped.json')

export function close(summary) {
  const allowed = JSON.parse(readFileSync(ALLOWED, 'utf8'))
  const { lines, failed } = closingOf(summary, { strict: process.env.CI === 'true', allowed })
  process.stdout.write(`\n${lines.join('\n')}\n`)
  process.exitCode = failed === 0 ? 0 : 1
}
