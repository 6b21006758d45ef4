import { pairsOf } from './form.js'
import { grouped, keeping } from './javascript.js'
import { readJson } from './json.js'
import { isForm, isJson, pathOf, queryOf, textOf } from './request.js'
import { exactly, type Reader, segmentsOf } from './view.js'

/** Tomcat: path parameters are cut before the mapping; a POSTed form's parameters follow the query's. */
export const servlet: Reader = {
  name: 'servlet',
  literal: exactly,
  read(request) {
    const posted = request.method === 'POST' && isForm(request) ? pairsOf(textOf(request)) : []
    const all = [...pairsOf(queryOf(request)), ...posted]
    const json = isJson(request) ? readJson(textOf(request), 'last')?.value : undefined
    return {
      method: request.method,
      segments: segmentsOf(
        pathOf(request)
          .split('/')
          .map((segment) => segment.split(';', 1)[0] ?? '')
          .join('/'),
      ),
      bags: [
        { name: 'getParameter', from: 'both', values: keeping(all, 'first') },
        { name: 'getParameterValues', from: 'both', values: grouped(all) },
        { name: 'Jackson', from: 'body', values: json ?? new Map() },
      ],
    }
  },
}
