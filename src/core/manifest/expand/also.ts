import type { Also } from '../model.js'
import { POINTER } from '../route/pointer.js'
import type { Node, Reader } from './tree.js'

const CLOSED: Also = { query: [], body: [] }
const QUERY_NAME = /^[^\u0000-\u001f]{1,128}$/

/** `{query: [names] | any, body: [pointers] | any}`; without it nothing passes that no argument reads. */
export function expandAlso(reader: Reader, node: Node | undefined): Also {
  const fields = reader.fields(node, ['query', 'body'])
  if (fields === undefined) return CLOSED
  return {
    query: listOrAny(reader, fields.get('query'), QUERY_NAME, 'the name of a query parameter'),
    body: listOrAny(reader, fields.get('body'), NOT_ROOT, 'a JSON pointer like /metadata'),
  }
}

/** The root is said with `any`. */
const NOT_ROOT = new RegExp(`(?=.)${POINTER.source}`)

function listOrAny(
  reader: Reader,
  node: Node | undefined,
  form: RegExp,
  hint: string,
): readonly string[] | 'any' {
  if (node === undefined) return []
  if (typeof node.value === 'string') return reader.oneOf(node, ['any'] as const) ?? []
  return reader.texts(node, form, hint)
}
