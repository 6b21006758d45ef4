import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readQuestion } from '../../../src/core/runtime/question.js'

const octets = (text: string): Uint8Array => new TextEncoder().encode(text)
const argumentsOf = (text: string): string | null => {
  const read = readQuestion(octets(text))
  return read.ok ? new TextDecoder().decode(read.argumentsJson) : null
}
const faultOf = (text: string): string | null => {
  const read = readQuestion(octets(text))
  return read.ok ? null : read.fault
}

describe('a question', () => {
  it('keeps the octets of the arguments exactly as they came', () => {
    expect(argumentsOf('{"arguments" : { "b":1.50, "a":"\\u00e9" } ,"tool":"Bash"}')).toBe(
      '{ "b":1.50, "a":"\\u00e9" }',
    )
    expect(argumentsOf(' {"tool":"t","arguments":{"arguments":{"tool":1}}} ')).toBe(
      '{"arguments":{"tool":1}}',
    )
  })

  it('gives back what was asked about, whatever it holds and however it is written', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom(0, 2),
        fc.boolean(),
        (tool, args, indent, first) => {
          const text = JSON.stringify(args, null, indent)
          const [a, b] = [`"tool":${JSON.stringify(tool)}`, `"arguments":${text}`]
          const read = readQuestion(octets(`{${first ? `${a},${b}` : `${b},${a}`}}`))
          if (!read.ok) throw new Error(read.fault)
          expect(read.tool).toBe(tool)
          expect(new TextDecoder().decode(read.argumentsJson)).toBe(text)
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each([
    ['another member', '{"tool":"t","arguments":{},"why":"x"}'],
    ['a member instead of the arguments', '{"tool":"t","args":{}}'],
    ['no arguments', '{"tool":"t"}'],
    ['arguments that are a list', '{"tool":"t","arguments":[]}'],
    ['arguments that are a text of JSON', '{"tool":"t","arguments":"{}"}'],
    ['a tool without a name', '{"tool":"","arguments":{}}'],
    ['a tool that is no text', '{"tool":7,"arguments":{}}'],
    ['a name that no manifest could have', `{"tool":"${'t'.repeat(257)}","arguments":{}}`],
    ['a list of questions', '[{"tool":"t","arguments":{}}]'],
  ])('with %s is misshapen', (_what, text) => {
    expect(faultOf(text)).toBe('question_misshapen')
  })

  it.each([
    ['named twice', '{"tool":"a","tool":"b","arguments":{}}', 'message_names_twice'],
    ['named twice inside', '{"tool":"a","arguments":{"x":1,"x":2}}', 'message_names_twice'],
    ['with a byte order mark', '\ufeff{"tool":"a","arguments":{}}', 'message_not_json'],
    ['with something behind it', '{"tool":"a","arguments":{}} 1', 'message_not_json'],
    ['empty', '', 'message_not_json'],
  ])('%s is not read', (_what, text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })
})
