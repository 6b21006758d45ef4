import { pairsOf } from './form.js'
import { grouped } from './javascript.js'
import { readJson } from './json.js'
import { headerOf, pathOf, queryOf, textOf } from './request.js'
import { exactly, type Reader, segmentsOf } from './view.js'

/**
 * Python's http.server under HTTP/1.1 reads a body only if the handler does. What is left stands in
 * front of the next request, unless the connection ends with this one.
 */
export const httpServer: Reader = {
  name: 'http.server',
  literal: exactly,
  read(request, { readsBody }) {
    const closes = headerOf(request, 'connection')?.toLowerCase() === 'close'
    const body = readsBody ? readJson(textOf(request), 'last')?.value : undefined
    return {
      method: request.method,
      segments: segmentsOf(pathOf(request)),
      bags: [
        { name: 'parse_qs', from: 'query', values: grouped(pairsOf(queryOf(request))) },
        { name: 'json.loads', from: 'body', values: body ?? new Map() },
      ],
      ...(readsBody || closes || request.body.length === 0 ? {} : { next: request.body }),
    }
  },
}
