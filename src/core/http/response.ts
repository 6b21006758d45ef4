import type { Header } from '../call/call.js'

/** RFC 9112 §6.3, with every tolerated ambiguity refused: the framing decides what `complete` means. */
export type BodyFraming =
  | { readonly kind: 'content_length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'bodyless' }
  | { readonly kind: 'close' }

export type ResponseHead = {
  readonly status: number
  /** End-to-end fields in received order, names in lower case. */
  readonly headers: readonly Header[]
  readonly framing: BodyFraming
  readonly contentType: string | null
  readonly contentEncoding: string | null
  /** How long the server will keep the connection; 0 when it will not. */
  readonly keepAliveMs: number
}

export const isBodyless = (method: string | undefined, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304

/** The framing of a response that Node writes or has read: a declared length, or chunks. */
export function framingOf(
  method: string | undefined,
  status: number,
  declared: number | null,
): BodyFraming {
  if (isBodyless(method, status)) return { kind: 'bodyless' }
  return declared === null ? { kind: 'chunked' } : { kind: 'content_length', length: declared }
}

const JSON_TYPE = /^application\/(?:json|[!#$%&'*+\-.^_`|~0-9a-z]+\+json)[ \t]*(?:;|$)/i

/** Whether a body under these fields may be read as JSON: a coded body may not. */
export const mayBeJson = (contentType: string | null, contentEncoding: string | null): boolean =>
  contentType !== null &&
  (contentType === 'application/json' || JSON_TYPE.test(contentType)) &&
  !isCoded(contentEncoding)

export const isCoded = (contentEncoding: string | null): boolean =>
  contentEncoding !== null && contentEncoding.toLowerCase() !== 'identity'
