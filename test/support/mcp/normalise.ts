import { createHash } from 'node:crypto'

/** What only this run has: times, identifiers, the folder. */
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>'],
  [/\b[0-9a-f]{32}\b/g, '<id>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/\b\d{1,2}:\d\d:\d\d [AP]M/g, '<time>'],
  [/\w{3} \w{3} \d\d \d{4} \d\d:\d\d:\d\d GMT\S* \([^)]*\)/g, '<time>'],
  [/"id":\d+/g, '"id":<id>'],
  // Over HTTP a session has an identifier; over stdio there is none.
  [/session undefined/g, 'session <id>'],
]

/** The keys of `_meta` that are between two neighbours on the wire, the gate's among them. */
const between = (key: string): boolean =>
  key === 'progressToken' || key.startsWith('dev.capsulegate/')

/** What a client saw, so that two runs can be compared. */
export function normalise(seen: unknown, folder: string): unknown {
  if (typeof seen === 'string') {
    let text = seen.replaceAll(folder, '<folder>')
    for (const [pattern, name] of VOLATILE) text = text.replace(pattern, name)
    // A megabyte that differs is best told by its digest.
    if (text.length < 10_000) return text
    return `${text.length} characters, ${createHash('sha256').update(text).digest('hex')}`
  }
  if (Array.isArray(seen)) return seen.map((item) => normalise(item, folder))
  if (typeof seen !== 'object' || seen === null) return seen
  const kept: [string, unknown][] = []
  for (const [key, value] of Object.entries(seen)) {
    if (value === undefined) continue
    if (key !== '_meta') kept.push([key, normalise(value, folder)])
    else if (typeof value === 'object' && value !== null) {
      const meta = Object.entries(value).filter(([name]) => !between(name))
      if (meta.length > 0) kept.push([key, normalise(Object.fromEntries(meta), folder)])
    }
  }
  return Object.fromEntries(kept)
}
