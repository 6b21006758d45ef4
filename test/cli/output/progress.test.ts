import { describe, expect, it } from '@jest/globals'
import { progress } from '../../../src/cli/output/progress.js'
import { stream } from './stream.js'

describe('progress', () => {
  const big = 100 * 1024 * 1024
  it('draws on a terminal for a big input, once per per cent, and wipes itself', () => {
    const terminal = stream(true)
    const bar = progress('ledger', big, terminal)
    for (let i = 0; i < 1000; i++) bar.update(big / 2 + i)
    bar.clear()
    expect(terminal.text.match(/50%/g)).toHaveLength(1)
    expect(terminal.text.endsWith('\r\u001b[K')).toBe(true)
  })

  it('is silent without a terminal, for a small input and for a pipe', () => {
    for (const [tty, size] of [
      [false, big],
      [true, 1000],
      [true, null],
    ] as const) {
      const target = stream(tty)
      const bar = progress('x', size, target)
      bar.update(500)
      bar.clear()
      expect(target.text).toBe('')
    }
  })
})
