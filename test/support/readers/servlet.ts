import { pairsOf } from './form.js'
import { grouped, keeping } from './javascript.js'
import { readJson } from './json.js'
import { headerOf, isForm, isJson, pathOf, queryOf, type RawRequest, textOf } from './request.js'
import { exactly, type Reader, segmentsOf } from './view.js'

/**
 * Tomcat: path parameters are cut before the mapping; a POSTed form's parameters follow the query's,
 * in the charset that its type names.
 */
export const servlet: Reader = {
  name: 'servlet',
  literal: exactly,
  read(request) {
    const posted = request.method === 'POST' && isForm(request) ? pairsOf(formText(request)) : []
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

/** EBCDIC as JVMs know it (IBM037): lower-case letters, digits and `_`, which is all that names need. */
function fromEbcdic(octet: number): string {
  if (octet === 0x6d) return '_'
  if (octet >= 0xf0 && octet <= 0xf9) return String(octet - 0xf0)
  const row = [0x80, 0x90, 0xa0].indexOf(octet & 0xf0)
  const letter = ['abcdefghi', 'jklmnopqr', ' stuvwxyz'][row]?.[(octet & 0x0f) - 1]
  return letter === undefined || letter === ' ' ? '?' : letter
}

/** Escapes are octets of the charset; `=` and `&` between them are the form's own. */
const formText = (request: RawRequest): string =>
  /;\s*charset="?ibm037/i.test(headerOf(request, 'content-type') ?? '')
    ? textOf(request).replace(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
        fromEbcdic(Number.parseInt(digits, 16)),
      )
    : textOf(request)

/** The other way, for tests: every character escaped. */
export const toEbcdic = (text: string): string =>
  [...text]
    .map((wanted) => {
      const octet = Array.from({ length: 256 }, (_, code) => code).find(
        (code) => fromEbcdic(code) === wanted,
      )
      return `%${(octet ?? 0x6f).toString(16)}`
    })
    .join('')
