import { describe, expect, it } from '@jest/globals'
import { painter, plain, table } from '../../../src/cli/output/print.js'
import { stream } from './stream.js'

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
