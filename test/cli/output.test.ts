import { describe, expect, it } from '@jest/globals'
import { painter, plain, progress, table } from '../../src/cli/output.js'

function stream(isTTY: boolean): { isTTY: boolean; write(text: string): boolean; text: string } {
  return {
    isTTY,
    text: '',
    write(text: string) {
      this.text += text
      return true
    },
  }
}

describe('colour', () => {
  it('only on a terminal, never against NO_COLOR or a dumb one', () => {
    expect(painter(stream(true), {})('red', 'x')).toBe('\u001b[31mx\u001b[0m')
    expect(painter(stream(true), { NO_COLOR: '' })('red', 'x')).toBe('\u001b[31mx\u001b[0m')
    expect(painter(stream(true), { NO_COLOR: '1' })('red', 'x')).toBe('x')
    expect(painter(stream(true), { TERM: 'dumb' })('red', 'x')).toBe('x')
    expect(painter(stream(false), {})('red', 'x')).toBe('x')
  })
})

describe('plain', () => {
  it('spells out what would steer a terminal or turn the line around', () => {
    expect(plain('a\u001b[2Jb\u009b31m\u202ec\n')).toBe(
      'a\\u{001b}[2Jb\\u{009b}31m\\u{202e}c\\u{000a}',
    )
    expect(plain('Ünïcode 日本 ok')).toBe('Ünïcode 日本 ok')
  })
})

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

describe('table', () => {
  it('pads columns before colour goes on', () => {
    expect(
      table(
        [
          ['a', 'b'],
          ['long', 'c'],
        ],
        (cell) => `<${cell}>`,
      ),
    ).toEqual(['<a>     <b>', '<long>  <c>'])
  })
})
