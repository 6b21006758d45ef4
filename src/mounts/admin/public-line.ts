import { isLineType, type JournalLine, LINES } from '../../core/journal/vocabulary.js'

const ENVELOPE = ['v', 'origin', 'seq', 'prev', 'at', 'type'] as const

/** Of a restricted declaration: that there was one (seed intent-declaration-primitive-01 §4.2). */
const RESTRICTED = ['event_id', 'action_id', 'session_id', 'audit_accessible']

/** What a viewer may see of a line: the vocabulary says it by type; of an unknown type the envelope alone. */
export function publicLine(line: JournalLine): { readonly [member: string]: unknown } {
  const shown: Record<string, unknown> = {}
  const listed = shownOf(line)
  for (const member of [...ENVELOPE, ...listed]) {
    if (Object.hasOwn(line, member)) shown[member] = line[member]
  }
  return shown
}

function shownOf({ type, audit_accessible }: JournalLine): readonly string[] {
  if (!isLineType(type)) return []
  const isRestricted = type === 'IDP_SUBMITTED' && audit_accessible !== true
  return isRestricted ? RESTRICTED : LINES[type].shown
}
