import { isObject, JsonNumber, type JsonObject, type JsonValue } from '../json/value.js'

/** What the message that answers a call says became of it (DESIGN §6). */
export type Outcome =
  | {
      readonly kind: 'succeeded' | 'refused' | 'failed'
      /** Null for an error. */
      readonly result: JsonObject | null
    }
  | { readonly kind: 'unfinished'; readonly why: 'input_required' | 'task' }

/** Invalid request, unknown method, invalid params: the call was turned away and nothing ran. */
const TURNED_AWAY: ReadonlySet<string> = new Set(['-32600', '-32601', '-32602'])

export function outcomeOf(message: JsonValue): Outcome {
  if (!isObject(message)) return { kind: 'failed', result: null }
  const error = message.get('error')
  if (error !== undefined) {
    const code = isObject(error) ? error.get('code') : undefined
    const turnedAway = code instanceof JsonNumber && TURNED_AWAY.has(code.token)
    return { kind: turnedAway ? 'refused' : 'failed', result: null }
  }
  const result = message.get('result')
  if (!isObject(result)) return { kind: 'failed', result: null }
  const type = result.get('resultType')
  // A type of an extension that is not known here is no finished result either.
  if (type !== undefined && type !== 'complete') {
    return { kind: 'unfinished', why: type === 'input_required' ? 'input_required' : 'task' }
  }
  // 2025-11-25: the handle of a task instead of a result.
  if (type === undefined && isObject(result.get('task')) && !result.has('content')) {
    return { kind: 'unfinished', why: 'task' }
  }
  return { kind: result.get('isError') === true ? 'refused' : 'succeeded', result }
}
