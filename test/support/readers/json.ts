import type { Tree } from './tree.js'

/**
 * JSON with the say over repeated names: parsers differ in which of two they keep. Null when the text
 * is no JSON. JSON.parse judges the syntax, so that the walk below needs no errors of its own.
 */
export function readJson(
  text: string,
  keep: 'first' | 'last',
  rename: (name: string) => string = (name) => name,
): { readonly value: Tree } | null {
  if (!/^[ \t\r\n]*[[{"0-9tfn-]/.test(text)) return null
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  let at = 0
  const skip = (): void => {
    while (/[ \t\r\n]/.test(text[at] ?? '')) at++
  }
  const literal = (): Tree => {
    const token = /^(?:"(?:[^"\\]|\\.)*"|[^,\]} \t\r\n]+)/.exec(text.slice(at))?.[0] ?? ''
    at += token.length
    return JSON.parse(token) as Tree
  }
  const value = (): Tree => {
    skip()
    const open = text[at]
    if (open !== '{' && open !== '[') return literal()
    const members = new Map<string, Tree>()
    const elements: Tree[] = []
    at++
    for (skip(); text[at] !== '}' && text[at] !== ']'; skip()) {
      if (text[at] === ',') at++
      skip()
      if (open === '[') elements.push(value())
      else {
        const name = rename(literal() as string)
        skip()
        at++ // the colon
        const member = value()
        if (keep === 'last' || !members.has(name)) members.set(name, member)
      }
    }
    at++
    return open === '[' ? elements : members
  }
  return { value: value() }
}

/** Go's encoding/json finds a field by simple case folding, of which ſ and the Kelvin sign are part. */
export const goName = (name: string): string => name.toUpperCase().toLowerCase()

/** protobuf-JSON takes both the declared snake_case and its lowerCamelCase. */
export const protobufName = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
