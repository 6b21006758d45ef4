import type { Header } from '../../core/call/call.js'

const EVENT_STREAM = /^text\/event-stream[ \t]*(?:;|$)/i

export function isEventStream(headers: readonly Header[]): boolean {
  for (const header of headers) {
    if (header[0] === 'content-type' && EVENT_STREAM.test(header[1])) return true
  }
  return false
}
