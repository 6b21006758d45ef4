import { type Finding, fault, type Location } from '../findings.js'

/** One policy's own text, first token to semicolon, and its location. */
export type PolicyText = Location & { readonly text: string }

/**
 * Limits that hold before Cedar sees a byte: its recursive parser exhausts the stack at about a hundred
 * nested brackets, and an instance that did so is lost.
 */
const MAX_POLICY_CHARS = 32 * 1024
const MAX_NESTING = 32

/**
 * Space and comments (which a carriage return ends too, as in Cedar); a string, which may hold anything;
 * a run of what does not matter here; one other character.
 */
const TOKEN = /(?<space>\s+|\/\/[^\n\r]*)|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"/;?()[\]{}]+|./sy

export function splitPolicies(
  file: string,
  content: string,
): { readonly policies: readonly PolicyText[]; readonly findings: readonly Finding[] } {
  const policies: PolicyText[] = []
  const findings: Finding[] = []
  let line = 1
  let open: { at: number; line: number; depth: number; deepest: number; template: boolean } | null =
    null
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(content); match !== null; match = TOKEN.exec(content)) {
    const token = match[0]
    if (match.groups?.space === undefined) {
      open ??= { at: match.index, line, depth: 0, deepest: 0, template: false }
      // A string that never ends: nothing after it can be split.
      if (token === '"') break
      if (token === '(' || token === '[' || token === '{') open.depth++
      else if (token === ')' || token === ']' || token === '}') open.depth--
      else if (token === '?') open.template = true
      open.deepest = Math.max(open.deepest, open.depth)
      if (token === ';') {
        const text = content.slice(open.at, TOKEN.lastIndex)
        const found = refusal({ file, line: open.line }, text, open)
        if (found === null) policies.push({ file, line: open.line, text })
        else findings.push(found)
        open = null
      }
    }
    line += newlinesIn(token)
  }
  if (open !== null) {
    const message = 'the text after the last policy is not a whole policy'
    findings.push(fault('policy_syntax', { file, line: open.line }, message))
  }
  return { policies, findings }
}

function refusal(
  location: Location,
  text: string,
  { deepest, template }: { deepest: number; template: boolean },
): Finding | null {
  if (template) {
    const message =
      'policy templates are not supported: `?principal` and `?resource` have nothing to fill them'
    return fault('policy_template', location, message)
  }
  if (text.length > MAX_POLICY_CHARS) {
    const message = `a policy of ${text.length} characters; at most ${MAX_POLICY_CHARS} are read`
    return fault('policy_too_large', location, message)
  }
  if (deepest > MAX_NESTING) {
    const message = `brackets nested ${deepest} deep; at most ${MAX_NESTING} are read`
    return fault('policy_too_deep', location, message)
  }
  return null
}

export const newlinesIn = (text: string): number => text.split('\n').length - 1
