import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  referenceAt,
  type SeenBody,
  type SuccessRule,
  succeeded,
} from '../../../src/core/http/success.js'
import { parse } from '../../../src/core/json/parse.js'

const seen = (text: string): SeenBody => {
  const parsed = parse(text)
  return parsed.ok ? { kind: 'json', value: parsed.value } : { kind: 'opaque' }
}
const unless = (...rules: SuccessRule['unless']): SuccessRule => ({
  status: ['200-299'],
  unless: rules,
})
const noError = unless({ pointer: '/error', op: 'exists' })

describe('success', () => {
  it.each([
    [200, ['200-299'], true],
    [300, ['200-299'], false],
    [404, ['200', '404'], true],
    [201, ['200', '404'], false],
    [200, [], false],
    [200, ['2xx'], false],
  ] as const)('status %i under %j: %s', (status, ranges, expected) => {
    expect(succeeded({ status: ranges, unless: [] }, status, { kind: 'opaque' })).toBe(expected)
  })

  it.each([
    ['{"error":false}', false],
    ['{"error":{"x":null}}', true],
    ['{"Error":1}', false],
    ['{"ok":true}', true],
  ])('unless /error exists, with %s: %s', (text, expected) => {
    expect(succeeded(noError, 200, seen(text))).toBe(expected)
  })

  it('a failure that cannot be looked for was not excluded', () => {
    expect(succeeded(noError, 200, { kind: 'opaque' })).toBe(false)
    expect(succeeded(noError, 200, { kind: 'empty' })).toBe(true)
  })

  it('another rule about the body never makes a success of a failure', () => {
    const failure = fc.record({
      pointer: fc.constantFrom('', '/error', '/a/0'),
      op: fc.constantFrom('exists' as const, 'equals' as const),
      value: fc.constantFrom(null, 1, 'x'),
    })
    fc.assert(
      fc.property(fc.jsonValue(), fc.array(failure), failure, (value, rules, more) => {
        const body = seen(JSON.stringify(value))
        if (succeeded(unless(...rules, more), 200, body)) {
          expect(succeeded(unless(...rules), 200, body)).toBe(true)
        }
      }),
    )
  })
})

describe('external_ref', () => {
  it.each([
    ['{"id":"re_1"}', 're_1'],
    ['{"id":9007199254740993}', '9007199254740993'],
    ['{"id":""}', null],
    ['{"id":"a","ID":"b"}', null],
    ['{"id":true}', null],
    ['{"id":"refunded to Dana"}', null],
    ['{"id":"a\\u0000b"}', null],
    ['not json', null],
  ])('%s gives %s', (text, expected) => {
    expect(referenceAt(seen(text), '/id')).toBe(expected)
  })
})
