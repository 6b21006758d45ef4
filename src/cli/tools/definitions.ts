import { parse } from '../../core/json/parse.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../../core/json/value.js'

/** A tool as its server describes it; nothing in it is believed. */
export type ToolDefinition = JsonObject

/** More than any server has; a list is held in memory. */
export const MAX_LIST_BYTES = 16 * 1024 * 1024

export type Page = {
  readonly tools: readonly ToolDefinition[]
  /** Null: it was the last. */
  readonly next: string | null
}

/** The result of `tools/list`. */
export function readPage(result: JsonValue): Page | null {
  if (!isObject(result)) return null
  const tools = result.get('tools')
  if (!isArray(tools) || !tools.every(isObject)) return null
  const next = result.get('nextCursor')
  return { tools, next: typeof next === 'string' ? next : null }
}

/** A saved result, or the whole response that it came in. */
export function readSaved(bytes: Uint8Array): Page | { readonly error: string } {
  const parsed = parse(bytes, { maxBytes: MAX_LIST_BYTES })
  if (!parsed.ok) return { error: `not JSON that can be read (${parsed.code}, at ${parsed.at})` }
  const { value } = parsed
  const result = isObject(value) && !value.has('tools') ? (value.get('result') ?? null) : value
  return readPage(result) ?? { error: 'no result of tools/list: expected {"tools": [{…}]}' }
}
