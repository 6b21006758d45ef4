import type { WriteStream } from 'node:tty'
import { type ConfigProblem, sayProblem } from '../../config/model.js'

/** The command was called wrongly, or names something that is not there: exit 2. */
export class UsageError extends Error {}

/** What `verify` and `conformance` promise a script. */
export const EXIT = { ok: 0, failed: 1, usage: 2, incomplete: 3 } as const

/** Found invalid outweighs unreadable, which outweighs incomplete. */
export const worst = (codes: readonly number[]): number =>
  [EXIT.failed, EXIT.usage, EXIT.incomplete].find((code) => codes.includes(code)) ?? EXIT.ok

export type Stream = Pick<WriteStream, 'isTTY' | 'write'>
const SGR = { green: '32', red: '31', yellow: '33', dim: '2', bold: '1' } as const
export type Paint = (colour: keyof typeof SGR, text: string) => string

/** Colour on a terminal only, and never against NO_COLOR (no-color.org). */
export function painter(stream: Stream, env: NodeJS.ProcessEnv = process.env): Paint {
  const colours = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  return (colour, text) => (colours ? `\u001b[${SGR[colour]}m${text}\u001b[0m` : text)
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** Text from a file under audit: what would move the cursor or turn the line around is spelled out. */
export const plain = (text: string): string =>
  text.replace(
    UNPRINTABLE,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`,
  )

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
export const printJson = (value: unknown): void => print(JSON.stringify(value))
export const printError = (line: string): void => {
  process.stderr.write(`${plain(line)}\n`)
}

/** One JSON value for a program (`--json`), or lines for a person. */
export function printResult(
  { json }: { json?: boolean },
  value: unknown,
  lines: () => string | readonly string[],
): void {
  if (json === true) printJson(value)
  else for (const line of [lines()].flat()) print(line)
}

/** Problems of files the operator wrote: on stderr for a person, on stdout for a program. */
export function printProblems(problems: readonly ConfigProblem[], json: boolean | undefined): void {
  process.exitCode = EXIT.failed
  if (json === true) printJson({ ok: false, problems })
  else for (const problem of problems) printError(sayProblem(problem))
}

/** The same problems, for a command that cannot go on. */
export const problemsError = (problems: readonly ConfigProblem[]): Error =>
  new Error(problems.map(sayProblem).join('\n'))

/** Columns as wide as their widest cell; colour goes on afterwards, so that it cannot shift them. */
export function table(
  rows: readonly (readonly string[])[],
  paint: (cell: string, column: number) => string = (cell) => cell,
): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  }
  return rows.map((row) =>
    row
      .map((cell, i) => {
        const pad = i === row.length - 1 ? '' : ' '.repeat((widths[i] ?? 0) - cell.length)
        return paint(cell, i) + pad
      })
      .join('  ')
      .trimEnd(),
  )
}
