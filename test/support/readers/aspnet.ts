import { multipartPairs, type Pair, pairsOf } from './form.js'
import { readJson } from './json.js'
import { isForm, isJson, isMultipart, pathOf, queryOf, textOf } from './request.js'
import { merge, type Tree } from './tree.js'
import { type Literal, type Reader, segmentsOf } from './view.js'

/** IIS cuts trailing dots and spaces off a segment; case counts nowhere. */
const trimmed = (segment: string): string => segment.replace(/[. ]+$/, '')
const windowsName: Literal = (literal, segment) => literal.toLowerCase() === segment.toLowerCase()

/** Names without regard to case, repeats joined by a comma; `Request[name]` asks the query first. */
export const aspnet: Reader = {
  name: 'ASP.NET',
  literal: windowsName,
  read(request) {
    const query = joined(pairsOf(queryOf(request)))
    const form = joined(
      isForm(request)
        ? pairsOf(textOf(request))
        : isMultipart(request)
          ? multipartPairs(request)
          : [],
    )
    const json = isJson(request)
      ? readJson(textOf(request), 'last', (name) => name.toLowerCase())?.value
      : undefined
    return {
      method: request.method,
      segments: segmentsOf(pathOf(request)).map(trimmed),
      bags: [
        { name: 'QueryString', from: 'query', values: query },
        { name: 'Form', from: 'body', values: form },
        { name: 'Request[]', from: 'both', values: merge(form, query) },
        { name: 'FromBody', from: 'body', values: json ?? new Map() },
      ],
    }
  },
}

export function joined(pairs: readonly Pair[]): Tree {
  const out = new Map<string, string>()
  for (const [given, value] of pairs) {
    const name = given.toLowerCase()
    const held = out.get(name)
    out.set(name, held === undefined ? value : `${held},${value}`)
  }
  return out
}
