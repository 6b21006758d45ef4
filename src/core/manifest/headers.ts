/** DESIGN §3: only listed headers are forwarded. */
export const FORWARDED_BY_DEFAULT = [
  'content-type',
  'accept',
  'accept-language',
  'idempotency-key',
  'traceparent',
] as const

const HEADER = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/
/** Framing, credentials, the gate's own, and whatever turns a judged method or path into another. */
const NEVER =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|host|expect|cookie2?|authorization|proxy-.*|gate-.*|agent-intent|agent-mandate|x-http-method(?:-override)?|x-method-override|x-original-url|x-rewrite-url|prefer)$/

export const isForwardable = (name: string): boolean => HEADER.test(name) && !NEVER.test(name)
