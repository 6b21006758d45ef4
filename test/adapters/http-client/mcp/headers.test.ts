import { expect, it } from '@jest/globals'
import fc from 'fast-check'
import { headerValue, sessionOf } from '../../../../src/adapters/http-client/mcp/headers.js'

/** The examples of MCP 2026-07-28, Value Encoding; and what else a header would change. */
it.each([
  ['us-west1', 'us-west1'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['', '=?base64??='],
  ['a\tb c', 'a\tb c'],
  ['\t', '=?base64?CQ==?='],
  ['x\r\nevil: 1', '=?base64?eA0KZXZpbDogMQ==?='],
])('%j is carried as %j', (value, carried) => expect(headerValue(value)).toBe(carried))

it('carries any text in visible ASCII, and none like another', () => {
  const decoded = (carried: string): string => {
    const inner = /^=\?base64\?(.*)\?=$/.exec(carried)?.[1]
    return inner === undefined ? carried : Buffer.from(inner, 'base64').toString()
  }
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), (value) => {
      const carried = headerValue(value)
      expect(carried).toMatch(/^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/)
      expect(decoded(carried)).toBe(value)
    }),
  )
})

it('knows one session, or none', () => {
  expect(sessionOf([['mcp-session-id', 's-1']])).toBe('s-1')
  expect(sessionOf([])).toBeNull()
  expect(
    sessionOf([
      ['mcp-session-id', 's-1'],
      ['mcp-session-id', 's-2'],
    ]),
  ).toBeNull()
})
