import type { Header } from '../call/call.js'
import { isToken, isVisible, parseField } from './fields.js'

export type RequestHead = {
  readonly method: string
  readonly target: string
  /** Lower-case names in the order in which they stand, duplicates kept. */
  readonly headers: readonly Header[]
}

/**
 * The head of one HTTP/1.1 request with its target in origin form, as this gate writes it: one space between the
 * words of its first line, CRLF behind every line, and nothing behind the empty one. Null for any other text.
 */
export function readRequestHead(head: string): RequestHead | null {
  if (!head.endsWith('\r\n\r\n')) return null
  const [requestLine = '', ...fields] = head.slice(0, -4).split('\r\n')
  const [method = '', target = '', version, ...more] = requestLine.split(' ')
  if (version !== 'HTTP/1.1' || more.length > 0) return null
  if (!isToken(method) || !target.startsWith('/') || !isVisible(target)) return null
  const headers: Header[] = []
  for (const field of fields) {
    const read = parseField(field)
    if (read === null) return null
    headers.push(read)
  }
  return { method, target, headers }
}
