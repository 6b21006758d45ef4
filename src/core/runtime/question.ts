import { utf8 } from '../bytes/text.js'
import type { Malformed } from '../call/malformed.js'
import { parseSourced } from '../json/parse.js'
import { membersOf } from '../json/spans.js'
import { isObject } from '../json/value.js'

/** What a runtime that acts itself asks about: a tool by its name, and the arguments it would run it with. */
export type Question = {
  readonly ok: true
  readonly tool: string
  /** The exact octets of `arguments`. */
  readonly argumentsJson: Uint8Array
}
export type QuestionRead = Question | { readonly ok: false; readonly fault: Malformed }

/** Longer than any name in a manifest; a refusal repeats the name. */
const LONGEST_NAME = 256
const misshapen: QuestionRead = { ok: false, fault: 'question_misshapen' }

/** `{"tool": NAME, "arguments": {…}}`, closed: a member that nobody reads could mean something to the asker. */
export function readQuestion(octets: Uint8Array): QuestionRead {
  const parsed = parseSourced(octets)
  if (!parsed.ok) {
    const twice = parsed.code === 'duplicate_name'
    return { ok: false, fault: twice ? 'message_names_twice' : 'message_not_json' }
  }
  const { value, text } = parsed
  if (!isObject(value) || value.size !== 2) return misshapen
  const tool = value.get('tool')
  if (typeof tool !== 'string' || tool === '' || tool.length > LONGEST_NAME) return misshapen
  if (!isObject(value.get('arguments'))) return misshapen
  const given = membersOf(text).find(({ name }) => name === 'arguments')
  return { ok: true, tool, argumentsJson: utf8(given?.value ?? '') }
}
