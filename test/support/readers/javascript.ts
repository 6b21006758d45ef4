import { parse as parseSimple } from 'node:querystring'
import qs from 'qs'
import { multipartPairs, type Pair } from './form.js'
import { readJson } from './json.js'
import { isForm, isJson, isMultipart, pathOf, queryOf, type RawRequest, textOf } from './request.js'
import { fromPlain, merge, type Tree } from './tree.js'
import { anyCase, type Bag, exactly, type Reader, segmentsOf } from './view.js'

const EMPTY: Tree = new Map()

/** First by `get`, all by `getAll`. */
export const searchParams: Reader = {
  name: 'URLSearchParams',
  literal: exactly,
  read(request) {
    const pairs = [...new URLSearchParams(queryOf(request))]
    return {
      method: request.method,
      segments: segmentsOf(pathOf(request)),
      bags: [
        { name: 'get', from: 'query', values: keeping(pairs, 'first') },
        { name: 'getAll', from: 'query', values: grouped(pairs) },
        { name: 'json', from: 'body', values: readJson(textOf(request), 'first')?.value ?? EMPTY },
      ],
    }
  },
}

export const keeping = (pairs: readonly Pair[], keep: 'first' | 'last'): Tree => {
  const out = new Map<string, Tree>()
  for (const [name, value] of pairs) if (keep === 'last' || !out.has(name)) out.set(name, value)
  return out
}
export const grouped = (pairs: readonly Pair[]): Tree => {
  const out = new Map<string, string[]>()
  for (const [name, value] of pairs) out.set(name, [...(out.get(name) ?? []), value])
  return out
}

/** qs as Express 4 calls it by default, and Express 5 under `query parser: extended`. */
export const qsTree = (text: string): Tree => fromPlain(qs.parse(text, { allowPrototypes: true }))
/** Express 5 by default, fastify and koa: names stay as they are, repeats become lists. */
export const simpleTree = (text: string): Tree => fromPlain({ ...parseSimple(text) })

/** Handlers take the query, the body, or one over the other; method-override reads `?_method=`. */
const express = (name: string, parse: (text: string) => Tree): Reader => ({
  name,
  literal: anyCase,
  read(request) {
    const query = parse(queryOf(request))
    const body = parsedBody(request, parse)
    return {
      method: overridden(request.method, [...new URLSearchParams(queryOf(request))]),
      segments: segmentsOf(pathOf(request)),
      bags: expressBags(query, body),
    }
  },
})
export const expressExtended = express('Express with qs', qsTree)
export const expressSimple = express('Express with querystring', simpleTree)

const expressBags = (query: Tree, body: Tree): Bag[] => [
  { name: 'req.query', from: 'query', values: query },
  { name: 'req.body', from: 'body', values: body },
  { name: '{...query, ...body}', from: 'both', values: merge(query, body) },
  { name: '{...body, ...query}', from: 'both', values: merge(body, query) },
]

/** json(), urlencoded() and a multipart parser, one behind the other. */
function parsedBody(request: RawRequest, parse: (text: string) => Tree): Tree {
  if (isJson(request)) return readJson(textOf(request), 'last')?.value ?? EMPTY
  if (isForm(request)) return parse(textOf(request))
  return isMultipart(request) ? keeping(multipartPairs(request), 'last') : EMPTY
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH']

/** `_method` of a POST, where it names a method. */
export function overridden(method: string, pairs: readonly Pair[]): string {
  const named = pairs.find(([name]) => name === '_method')?.[1].toUpperCase() ?? ''
  return method === 'POST' && METHODS.includes(named) ? named : method
}
