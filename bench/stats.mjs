/** Numbers as the benches print them: medians, spread, plain tables, and what DESIGN §10 asks of them. */

/** `--short`: one tiny round, which shows that a bench still runs; its numbers mean nothing. */
export const SHORT = process.argv.includes('--short')
export const args = process.argv.slice(2).filter((arg) => arg !== '--short')

/** A row of DESIGN §10: `atLeast` for what should be high, `atMost` for a cost. */
export function floor(name, value, { atLeast, atMost }) {
  const met = atLeast === undefined ? value <= atMost : value >= atLeast
  const bound = atLeast === undefined ? `at most ${atMost}×` : `at least ${atLeast}×`
  process.stdout.write(`${name}: ${value.toFixed(2)}×, floor ${bound}: ${met ? 'met' : 'missed'}\n`)
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const spread = (values, digits = 0) =>
  `${Math.min(...values).toFixed(digits)}..${Math.max(...values).toFixed(digits)}`

export function table(head, rows) {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)))
  const line = (cells) =>
    `${cells
      .map((cell, i) => cell.padEnd(widths[i]))
      .join('  ')
      .trimEnd()}\n`
  process.stdout.write(`\n${line(head)}${line(widths.map((width) => '─'.repeat(width)))}`)
  for (const row of rows) process.stdout.write(line(row))
}
