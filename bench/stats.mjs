/** Numbers as the benches print them: medians, spread, plain tables. */
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
