/** One request as it stands on the wire, after the framing and before any framework. */
export type RawRequest = {
  readonly method: string
  readonly target: string
  /** Lower-case names. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

export const headerOf = ({ headers }: RawRequest, wanted: string): string | null =>
  headers.find(([name]) => name === wanted)?.[1] ?? null

/** `application/json` of `Application/JSON; charset=utf-8`; null without the header. */
export const mediaType = (request: RawRequest): string | null =>
  headerOf(request, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? null

export const pathOf = ({ target }: RawRequest): string => target.split('?', 1)[0] ?? ''
export const queryOf = ({ target }: RawRequest): string => {
  const mark = target.indexOf('?')
  return mark === -1 ? '' : target.slice(mark + 1)
}

export const textOf = ({ body }: RawRequest): string => Buffer.from(body).toString('utf8')

export const isForm = (request: RawRequest): boolean =>
  mediaType(request) === 'application/x-www-form-urlencoded'
export const isMultipart = (request: RawRequest): boolean =>
  mediaType(request)?.startsWith('multipart/') === true
export const isJson = (request: RawRequest): boolean =>
  /^application\/(?:json|.+\+json)$/.test(mediaType(request) ?? '')

/** A head and a Content-Length body, as the gate writes them. */
export function parseRequest(head: string, body: Uint8Array): RawRequest {
  const [first = '', ...fields] = head.replace(/\r\n\r\n$/, '').split('\r\n')
  const [method = '', target = ''] = first.split(' ')
  const headers = fields.map((field) => {
    const colon = field.indexOf(':')
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const
  })
  return { method, target, headers, body }
}
