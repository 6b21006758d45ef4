import { quoted, sentAs, visible } from '../../core/approval/show.js'
import { utf8 } from '../../core/bytes/text.js'
import { parse } from '../../core/json/parse.js'
import { isArray, isObject, JsonNumber, type JsonValue } from '../../core/json/value.js'

/** Lines around a change that are shown with it. */
const CONTEXT = 3
/** Beyond this many comparisons all of the one is shown as gone and all of the other as new. */
const MOST_COMPARED = 4_000_000
/** Longer texts are shown in sentences, so that a change in one does not hide in the others. */
const LONG = 72

type Row = { readonly mark: ' ' | '-' | '+'; readonly line: string }

/**
 * What changed from one definition to the other, for an operator who reads it: what a screen would hide is
 * spelt out, and nothing that differs looks alike.
 */
export function difference(before: string, after: string): readonly string[] {
  const rows = compared(linesOf(before), linesOf(after))
  const near = new Set<number>()
  for (const [at, { mark }] of rows.entries()) {
    if (mark === ' ') continue
    for (let each = at - CONTEXT; each <= at + CONTEXT; each++) near.add(each)
  }
  return rows.flatMap(({ mark, line }, at) => {
    if (!near.has(at)) return near.has(at - 1) || at === 0 ? ['  …'] : []
    const text = line.trimStart()
    const sent = mark === ' ' ? null : sentAs(text)
    const indent = ' '.repeat(line.length - text.length + 2)
    const shown = `${mark} ${line}`
    return sent === null ? [shown] : [shown, `${mark} ${indent}${sent.said}: ${sent.text}`]
  })
}

/** One member or sentence a line; numbers as they were sent. */
function linesOf(document: string): readonly string[] {
  const parsed = parse(utf8(document))
  return parsed.ok ? shown(parsed.value, '', '') : [visible(document)]
}

function shown(value: JsonValue, indent: string, name: string): readonly string[] {
  const inner = `${indent}  `
  if (typeof value === 'string') {
    const [first = '', ...rest] = value.length > LONG ? sentences(value) : [value]
    return [`${indent}${name}${quoted(first)}`, ...rest.map((each) => `${inner}${quoted(each)}`)]
  }
  if (isArray(value) || isObject(value)) {
    const [open, close] = isArray(value) ? ['[', ']'] : ['{', '}']
    const members = isArray(value)
      ? value.flatMap((element) => shown(element, inner, ''))
      : [...value].flatMap(([member, of]) => shown(of, inner, `${quoted(member)}: `))
    return members.length === 0
      ? [`${indent}${name}${open}${close}`]
      : [`${indent}${name}${open}`, ...members, `${indent}${close}`]
  }
  return [`${indent}${name}${value instanceof JsonNumber ? value.token : String(value)}`]
}

/** All of the text, cut behind line breaks and ends of sentences. */
const sentences = (text: string): readonly string[] => text.split(/(?<=\n)|(?<=[.!?;:] )/)

/** The longest common lines stay; what stands between them went or came. */
function compared(before: readonly string[], after: readonly string[]): readonly Row[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const room = Math.min(before.length, after.length) - start
  while (end < room && before.at(-1 - end) === after.at(-1 - end)) end++
  const same = (lines: readonly string[]): Row[] => lines.map((line) => ({ mark: ' ', line }))
  return [
    ...same(before.slice(0, start)),
    ...between(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ]
}

function between(before: readonly string[], after: readonly string[]): readonly Row[] {
  const rows: Row[] = []
  const [height, width] = [before.length, after.length]
  const common = height * width > MOST_COMPARED ? null : new Uint32Array((height + 1) * (width + 1))
  const at = (i: number, j: number): number => common?.[i * (width + 1) + j] ?? 0
  for (let i = height - 1; i >= 0 && common !== null; i--) {
    for (let j = width - 1; j >= 0; j--) {
      common[i * (width + 1) + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  let [i, j] = [0, 0]
  while (i < height || j < width) {
    const [old, now] = [before[i], after[j]]
    if (common !== null && old !== undefined && old === now) {
      rows.push({ mark: ' ', line: old })
      i++
      j++
    } else if (old !== undefined && (now === undefined || at(i + 1, j) >= at(i, j + 1))) {
      rows.push({ mark: '-', line: old })
      i++
    } else if (now !== undefined) {
      rows.push({ mark: '+', line: now })
      j++
    }
  }
  return rows
}
