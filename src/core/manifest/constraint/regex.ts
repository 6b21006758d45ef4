import { RE2JS } from 're2js'

/** Linear-time patterns. Compiling is the dear part, so the last thousand are kept. */
const KEPT = 1000
const MAX_PATTERN = 1024
const compiled = new Map<string, RE2JS | null>()

function compile(pattern: string): RE2JS | null {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  let expression: RE2JS | null = null
  try {
    if (pattern.length <= MAX_PATTERN) expression = RE2JS.compile(pattern)
  } catch {
    expression = null
  }
  if (compiled.size >= KEPT) compiled.clear()
  compiled.set(pattern, expression)
  return expression
}

export const isPattern = (pattern: string): boolean => compile(pattern) !== null

/** The whole text, not a part of it. Null when there is no such pattern. */
export const matchesWhole = (pattern: string, text: string): boolean | null =>
  compile(pattern)?.testExact(text) ?? null

/** Somewhere in the text, as JSON Schema has it. Throws on what is no pattern: ajv reports that. */
export const searcher = (pattern: string): { test(text: string): boolean; toString(): string } => {
  const expression = compile(pattern)
  if (expression === null) throw new SyntaxError(`not an RE2 pattern: ${pattern}`)
  // ajv keeps patterns by their text: without one of its own, each would be taken for the first.
  return { test: (text) => expression.test(text), toString: () => pattern }
}
