import { RIGHT_TO_LEFT } from './bidi-ranges.js'

/** LRM, and the embeddings, overrides, isolates and their ends; RLM and ALM are in the table. */
const isDirecting = (code: number): boolean =>
  code === 0x200e || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)

/**
 * Whether a screen may show the text in another order than it is sent. By Bidi_Class, not by script:
 * one right-to-left character of any script is enough to turn the numbers after it around.
 */
export function mayReorder(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    if (code >= 0x590 && (isDirecting(code) || isRightToLeft(code))) return true
  }
  return false
}

function isRightToLeft(code: number): boolean {
  let low = 0
  let high = RIGHT_TO_LEFT.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const [first, last] = RIGHT_TO_LEFT[middle] as readonly [number, number]
    if (code < first) high = middle - 1
    else if (code > last) low = middle + 1
    else return true
  }
  return false
}
