/** DESIGN §3: only listed headers are forwarded. */
export const FORWARDED_BY_DEFAULT = [
  'content-type',
  'accept',
  'accept-language',
  'idempotency-key',
  'traceparent',
] as const

/** Fields by which frameworks take another method or path than the one that was judged. */
export const OVERRIDE_HEADERS: readonly string[] = [
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'x-rewrite-url',
]

const HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/
/** Framing, credentials and the gate's own. */
const NEVER =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|host|expect|cookie2?|authorization|proxy-.*|gate-.*|agent-intent|agent-mandate|prefer)$/

export const isForwardable = (name: string): boolean =>
  HEADER.test(name) && !NEVER.test(name) && !OVERRIDE_HEADERS.includes(name)
