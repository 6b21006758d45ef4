import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readTransition } from '../../../src/core/runtime/transition.js'

const octets = (text: string): Uint8Array => new TextEncoder().encode(text)
const faultOf = (text: string): string | null => {
  const read = readTransition(octets(text))
  return read.ok ? null : read.fault
}
const text = (bytes: Uint8Array | null): string | null =>
  bytes === null ? null : new TextDecoder().decode(bytes)

describe('a transition', () => {
  it('keeps the octets of the declaration and of the body exactly as they came', () => {
    const read = readTransition(
      octets(
        ' {"request" : {"body" :\n{ "b":1.50, "a":"\\u00e9" } ,"target":"/a?b=c","method":"POST"}, "intent": {\r\n "intent" : {"body":1}} }',
      ),
    )
    if (!read.ok) throw new Error(read.fault)
    expect(text(read.body)).toBe('{ "b":1.50, "a":"\\u00e9" }')
    expect(read).toMatchObject({
      intent: '{\r\n "intent" : {"body":1}}',
      method: 'POST',
      target: '/a?b=c',
      contentType: 'application/json',
    })
    expect(read).not.toHaveProperty('mandate')
  })

  it('without a body has none, and no type unless one is named', () => {
    const of = (more: string) =>
      readTransition(octets(`{"request":{"method":"DELETE","target":"/a"${more}}}`))
    expect(of('')).toEqual({
      ok: true,
      method: 'DELETE',
      target: '/a',
      contentType: null,
      body: null,
    })
    expect(of(',"content_type":"a/b; c=d"')).toMatchObject({ contentType: 'a/b; c=d', body: null })
    for (const body of ['null', 'false', '""', '[]', '-0.0']) {
      const read = of(`,"body":${body}`)
      expect(read.ok && text(read.body)).toBe(body)
    }
  })

  it('gives back what was put in, whatever it holds and however it is written', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
        fc.jsonValue(),
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(0, 2),
        fc.shuffledSubarray(['intent', 'mandate', 'request'], { minLength: 3 }),
        (intent, body, mandate, indent, order) => {
          const [said, sent] = [JSON.stringify(intent, null, indent), JSON.stringify(body)]
          const parts: Record<string, string> = {
            intent: `"intent":${said}`,
            mandate: `"mandate":${JSON.stringify(mandate)}`,
            request: `"request":{"method":"PUT","body": ${sent} ,"target":"/x"}`,
          }
          const read = readTransition(octets(`{${order.map((name) => parts[name]).join(', ')}}`))
          if (!read.ok) throw new Error(read.fault)
          expect([read.intent, read.mandate, text(read.body)]).toEqual([said, mandate, sent])
        },
      ),
      { numRuns: 300 },
    )
  })

  const request = (members: object): string =>
    JSON.stringify({ request: { method: 'POST', target: '/a', ...members } })
  it.each([
    ['no request', '{"intent":{}}'],
    ['a request that is a text', '{"request":"POST /a"}'],
    ['a list of transitions', `[${request({})}]`],
    ['another member', '{"request":{"method":"GET","target":"/a"},"headers":{}}'],
    ['another member of the request', request({ headers: { authorization: 'x' } })],
    ['a mandate that is no text', '{"mandate":{},"request":{"method":"GET","target":"/a"}}'],
    ['no target', '{"request":{"method":"GET"}}'],
    ['no method', '{"request":{"target":"/a"}}'],
    ['an empty target', request({ target: '' })],
    ['a line break in the target', request({ target: '/a\r\nx: y' })],
    ['a line break behind the target', request({ target: '/a\n' })],
    ['a space in the target', request({ target: '/a HTTP/1.1' })],
    ['a NUL in the target', request({ target: '/a\0' })],
    ['a letter beyond ASCII in the target', request({ target: '/é' })],
    ['a target of 17 KiB', request({ target: `/${'a'.repeat(17 * 1024)}` })],
    ['a method in lower case', request({ method: 'post' })],
    ['a line break in the method', request({ method: 'GET\r\n' })],
    ['a space in the method', request({ method: 'GET /b' })],
    ['a line break in the type', request({ content_type: 'a/b\r\nx: y' })],
    ['a line break behind the type', request({ content_type: 'a/b\n' })],
    ['a letter beyond ASCII in the type', request({ content_type: 'a/\u010d' })],
    ['an empty type', request({ content_type: '' })],
    ['a type that is no text', request({ content_type: null })],
  ])('with %s is misshapen', (_what, given) => {
    expect(faultOf(given)).toBe('transition_misshapen')
  })

  it.each(['CONNECT', 'HEAD', 'TRACE'])('has no method %s', (method) => {
    expect(faultOf(request({ method }))).toBe('transition_method')
  })

  it.each([
    ['a declaration twice', '{"intent":{},"intent":{},"request":{"method":"GET","target":"/"}}'],
    ['the same name escaped', '{"request":{"method":"GET","target":"/","\\u0074arget":"/b"}}'],
    ['a name twice in the body', '{"request":{"method":"PUT","target":"/","body":{"a":1,"a":2}}}'],
    ['a name twice in the intent', '{"intent":{"a":1,"a":2},"request":{}}'],
  ])('with %s is not read', (_what, given) => {
    expect(faultOf(given)).toBe('message_names_twice')
  })

  it.each(['', '{', '\ufeff{}', '{"request":{}} 1', 'request=1', '{"intent":"\\ud800"}'])(
    'is no %j',
    (given) => {
      expect(faultOf(given)).toBe('message_not_json')
    },
  )
})
