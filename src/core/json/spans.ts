/**
 * Where the parts of a JSON text stand, so that some of them can be left out or replaced while all others stay
 * as they were written. For texts that the strict parser has accepted: nothing is checked here.
 */
export type Member = {
  readonly name: string
  /** The value's own text. */
  readonly value: string
  /** Name and value as they stood. */
  readonly text: string
}

/** Members of the object that the text is, in their order. */
export function membersOf(text: string): readonly Member[] {
  const members: Member[] = []
  let at = skipSpace(text, skipSpace(text, 0) + 1)
  while (text[at] !== '}') {
    const from = at
    const named = endOfString(text, at)
    const start = skipSpace(text, skipSpace(text, named) + 1)
    const end = endOfValue(text, start)
    members.push({
      name: JSON.parse(text.slice(from, named)) as string,
      value: text.slice(start, end),
      text: text.slice(from, end),
    })
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return members
}

/** Texts of the elements of the array that the text is. */
export function elementsOf(text: string): readonly string[] {
  const elements: string[] = []
  let at = skipSpace(text, skipSpace(text, 0) + 1)
  while (text[at] !== ']') {
    const end = endOfValue(text, at)
    elements.push(text.slice(at, end))
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return elements
}

const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

function skipSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** Behind the closing quote of the string that begins here. */
function endOfString(text: string, from: number): number {
  let at = from + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    let backslashes = 0
    while (text[quote - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

function endOfValue(text: string, from: number): number {
  const first = text[from]
  if (first === '"') return endOfString(text, from)
  if (first !== '{' && first !== '[') {
    let at = from
    while (at < text.length && !/[\s,\]}]/.test(text[at] as string)) at++
    return at
  }
  let depth = 0
  let at = from
  for (;;) {
    const here = text[at]
    if (here === '"') {
      at = endOfString(text, at)
      continue
    }
    if (here === '{' || here === '[') depth++
    else if (here === '}' || here === ']') depth--
    at++
    if (depth === 0) return at
  }
}
