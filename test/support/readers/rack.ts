import { multipartPairs, type Pair, pairsOf } from './form.js'
import { overridden } from './javascript.js'
import { readJson } from './json.js'
import { isForm, isJson, isMultipart, mediaType, pathOf, queryOf, textOf } from './request.js'
import { isMap, merge, type Tree } from './tree.js'
import { type Literal, type Reader, segmentsOf } from './view.js'

/** Rack 2: `;` separates as `&` does. */
const SEPARATOR = /[&;] */

/** A route ends in `(.:format)`. */
const withFormat: Literal = (literal, segment, last) =>
  literal === segment || (last && literal === segment.replace(/\.[^./]+$/, ''))

/** Sinatra's and Rails' `params`: query, over it the form or JSON body; a form's `_method` counts. */
export const rack: Reader = {
  name: 'Rack',
  literal: withFormat,
  read(request) {
    const query = nested(pairsOf(queryOf(request), SEPARATOR))
    // A POST that names no type is taken for a form.
    const isData = isForm(request) || (request.method === 'POST' && mediaType(request) === null)
    const pairs = isData
      ? pairsOf(textOf(request), SEPARATOR)
      : isMultipart(request)
        ? multipartPairs(request)
        : []
    const form = nested(pairs)
    if (query === null || form === null) return null
    const json: Tree = (isJson(request) ? readJson(textOf(request), 'last')?.value : null) ?? null
    return {
      method: overridden(request.method, pairs),
      segments: segmentsOf(pathOf(request)),
      bags: [
        { name: 'GET', from: 'query', values: query },
        { name: 'POST', from: 'body', values: form },
        { name: 'params', from: 'both', values: merge(query, isMap(json) ? json : form) },
      ],
    }
  },
}

/** Null: the same name as a value and as a container, which Rack answers with 400. */
export function nested(pairs: readonly Pair[]): Tree | null {
  const root = new Map<string, Tree>()
  for (const [name, value] of pairs) if (!store(root, name, value)) return null
  return root
}

function store(into: Map<string, Tree>, name: string, value: string): boolean {
  const found = /^[[\]]*([^[\]]+)\]*/.exec(name)
  const key = found?.[1]
  if (found === null || key === undefined) return true
  const after = name.slice(found[0].length)
  if (after === '') into.set(key, value)
  else if (after === '[') into.set(name, value)
  else if (after === '[]' || after.startsWith('[]')) {
    const held = into.get(key) ?? []
    if (!Array.isArray(held)) return false
    into.set(key, [...(held as readonly Tree[]), value])
  } else {
    const held = into.get(key) ?? new Map()
    if (!isMap(held)) return false
    const inner = new Map(held)
    into.set(key, inner)
    return store(inner, after, value)
  }
  return true
}
