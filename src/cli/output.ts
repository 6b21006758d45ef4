import type { WriteStream } from 'node:tty'

/** The command was called wrongly, or names something that is not there: exit 2. */
export class UsageError extends Error {}

/** What `verify` and `conformance` promise a script. */
export const EXIT = { ok: 0, failed: 1, usage: 2, incomplete: 3 } as const

type Stream = Pick<WriteStream, 'isTTY' | 'write'>
type Colour = 'green' | 'red' | 'yellow' | 'dim' | 'bold'
const SGR: Readonly<Record<Colour, string>> = {
  green: '32',
  red: '31',
  yellow: '33',
  dim: '2',
  bold: '1',
}
export type Paint = (colour: Colour, text: string) => string

/** Colour only where a person looks, and never against NO_COLOR (no-color.org). */
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

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
export const printJson = (value: unknown): void => print(JSON.stringify(value))

/** Columns as wide as their widest cell; colour goes on afterwards, so that it cannot shift them. */
export function table(
  rows: readonly (readonly string[])[],
  paint: (cell: string, column: number) => string = (cell) => cell,
): string[] {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length)
    })
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

export type Progress = { update(done: number): void; clear(): void }
const NO_PROGRESS: Progress = { update: () => {}, clear: () => {} }
const BIG = 8 * 1024 * 1024
const WIDTH = 30

/** A bar on stderr for big inputs, when a person is there to see it. */
export function progress(
  label: string,
  total: number | null,
  stream: Stream = process.stderr,
): Progress {
  if (stream.isTTY !== true || total === null || total < BIG) return NO_PROGRESS
  let shown = -1
  return {
    update(done) {
      const percent = Math.min(100, Math.floor((done / total) * 100))
      if (percent === shown) return
      shown = percent
      const full = Math.round((percent / 100) * WIDTH)
      const bar = `${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}`
      stream.write(`\r${plain(label)} [${bar}] ${String(percent).padStart(3)}%`)
    },
    clear: () => {
      if (shown >= 0) stream.write('\r\u001b[K')
    },
  }
}
