import { multipartPairs, type Pair, pairsOf } from './form.js'
import { overridden } from './javascript.js'
import { readJson } from './json.js'
import { isForm, isJson, isMultipart, pathOf, queryOf, textOf } from './request.js'
import { isMap, merge, type Tree } from './tree.js'
import { exactly, type Reader, segmentsOf } from './view.js'

/** `$_GET`, `$_POST` and `$_REQUEST`, in which the form counts before the query. */
export const php: Reader = {
  name: 'PHP',
  literal: exactly,
  read(request) {
    const query = pairsOf(queryOf(request))
    const posted =
      request.method !== 'POST'
        ? []
        : isForm(request)
          ? pairsOf(textOf(request))
          : isMultipart(request)
            ? multipartPairs(request)
            : []
    const json: Tree = (isJson(request) ? readJson(textOf(request), 'last')?.value : null) ?? null
    const get = registered(query)
    const post = registered(posted)
    return {
      method: overridden(request.method, [...posted, ...query]),
      segments: segmentsOf(pathOf(request)),
      bags: [
        { name: '$_GET', from: 'query', values: get },
        { name: '$_POST', from: 'body', values: post },
        { name: '$_REQUEST', from: 'both', values: merge(get, post) },
        { name: 'input()', from: 'both', values: merge(get, isMap(json) ? json : post) },
      ],
    }
  },
}

/** What comes after so many is dropped; Express drops as much, by either parser. */
const MAX_INPUT_VARS = 1000

/** Variables as PHP registers them: names mangled, brackets nest, the last one wins. */
export function registered(pairs: readonly Pair[]): Tree {
  const root = new Map<string, Tree>()
  for (const [given, value] of pairs.slice(0, MAX_INPUT_VARS)) {
    const [first, ...keys] = variableName(given)
    if (first === undefined || first === '') continue
    let holder: Map<string, Tree> = root
    let key = first
    for (const next of keys) {
      const held = holder.get(key)
      const inner: Map<string, Tree> = isMap(held) ? new Map(held) : new Map()
      holder.set(key, inner)
      holder = inner
      key = next === '' ? String(inner.size) : next
    }
    holder.set(key, value)
  }
  return root
}

/** Leading spaces go, dots and spaces before the first bracket become `_`, a lone `[` too. */
function variableName(given: string): string[] {
  const [name = ''] = given.replace(/^ +/, '').split('\0', 1)
  const open = name.indexOf('[')
  const mangled = (text: string): string => text.replace(/[. ]/g, '_')
  if (open === -1) return [mangled(name)]
  const base = mangled(name.slice(0, open))
  if (!name.includes(']', open)) return [`${base}_${name.slice(open + 1)}`]
  // What follows a closing bracket and is no further bracket is ignored.
  const brackets = /^(?:\[[^\]]*\])+/.exec(name.slice(open))?.[0] ?? ''
  return [base, ...brackets.slice(1, -1).split('][')]
}
