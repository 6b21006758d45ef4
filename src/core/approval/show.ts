import type { Plain } from '../json/value.js'
import { mayReorder } from './bidi.js'

/**
 * What an approver reads must be what is bound: characters that a screen hides, reorders or confuses
 * with a plain space are spelt out as \u{…}. The backslash itself is doubled, so that no text can pose
 * as one that was spelt out.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
const OTHER_SPACE = /(?! )\p{Zs}/u
/** At the start it would join whatever stands before the quotation. */
const MARK = /\p{M}/u

export function visible(text: string): string {
  let out = ''
  for (const character of text) {
    const hidden = HIDDEN.test(character) || OTHER_SPACE.test(character)
    if (character === '\\') out += '\\\\'
    else out += hidden || (out === '' && MARK.test(character)) ? spelt(character) : character
  }
  return out
}

const spelt = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`

/** An agent's text is quoted, never part of our sentences. */
export const quoted = (text: string): string => `"${visible(text).replaceAll('"', '\\"')}"`

/** A whole value as an approver sees it: names and texts made visible, one member a line. */
export function shown(value: Plain, indent = ''): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value !== 'object') return String(value)
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((element: Plain) => `${inner}${shown(element, inner)}`)
    : Object.entries(value).map(
        ([name, member]) => `${inner}${quoted(name)}: ${shown(member ?? null, inner)}`,
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join('\n')}\n${indent}${close}`
}

/**
 * Text that went through `visible`, a second time: everything above ASCII spelt out, in the order it is
 * sent, so that no font, look-alike or writing direction changes what is read. Null where the text is
 * ASCII already.
 */
export function sentAs(text: string): { readonly said: string; readonly text: string } | null {
  const ascii = text.replace(ABOVE_ASCII, spelt)
  if (ascii === text) return null
  const said = mayReorder(text) ? 'may be shown in another order; sent as' : 'sent as'
  return { said, text: ascii }
}
const ABOVE_ASCII = /[^\0-\x7F]/gu

/** `shown`, and below each line that is more than ASCII the same line as it is sent. */
export const shownTwice = (value: Plain): string =>
  shown(value)
    .split('\n')
    .flatMap((line) => {
      const sent = sentAs(line.trimStart())
      const indent = ' '.repeat(line.length - line.trimStart().length)
      return sent === null ? [line] : [line, `${indent}  ${sent.said}: ${sent.text}`]
    })
    .join('\n')
