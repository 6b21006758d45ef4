import { isLineType, type JournalLine, LINES } from '../../core/journal/vocabulary.js'

const ENVELOPE = ['v', 'origin', 'seq', 'prev', 'at', 'type'] as const

/** What a viewer may see of a line: the vocabulary says it by type; of an unknown type the envelope alone. */
export function publicLine(line: JournalLine): { readonly [member: string]: unknown } {
  const shown: Record<string, unknown> = {}
  const listed: readonly string[] = isLineType(line.type) ? LINES[line.type].shown : []
  for (const member of [...ENVELOPE, ...listed]) {
    if (Object.hasOwn(line, member)) shown[member] = line[member]
  }
  return shown
}
