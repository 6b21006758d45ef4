/** The part of http-proxy-middleware's options that a governed route can honour. */
export type ProxyMiddlewareOptions = {
  /** Scheme, host and port of the upstream. */
  readonly target: string | URL
  /** Always on: Host is the upstream's. */
  readonly changeOrigin?: true
  /** Always on: the gate writes the answer itself. */
  readonly selfHandleResponse?: true
  /** Always on: a certificate that does not verify ends the connection. */
  readonly secure?: true
  /** Milliseconds; an upper bound of every tool's own total deadline. */
  readonly proxyTimeout?: number
  readonly ssl?: { readonly ca?: string; readonly cert?: string; readonly key?: string }
}

const KNOWN: ReadonlySet<string> = new Set([
  'bodyBytes',
  'changeOrigin',
  'credential',
  'gate',
  'holdBytes',
  'proxyTimeout',
  'secure',
  'selfHandleResponse',
  'ssl',
  'target',
  'upstream',
])
const OTHER_BYTES = 'would send something else than what was judged'
const OTHER_READER = 'would read or change the answer before the gate has observed it'
/** Options people carry over, and why they cannot come along. */
const REFUSED: Readonly<Record<string, string>> = {
  buffer: OTHER_BYTES,
  followRedirects: OTHER_BYTES,
  headers: `${OTHER_BYTES}; list headers in the manifest (forward_headers) or give a credential`,
  ignorePath: OTHER_BYTES,
  on: `${OTHER_READER}, or ${OTHER_BYTES} (fixRequestBody, responseInterceptor)`,
  pathFilter: 'is the manifest’s business: what no rule matches is refused and recorded',
  pathRewrite: OTHER_BYTES,
  plugins: OTHER_READER,
  prependPath: OTHER_BYTES,
  router: 'would choose an upstream after the call was judged for another',
  ws: 'has no governed form; WebSocket routes are pass-through routes of the stand-alone proxy',
}

/** Refuses at start-up what could not be kept later; nothing is silently ignored. */
export function readOptions(options: ProxyMiddlewareOptions) {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || KNOWN.has(name)) continue
    throw new TypeError(`governedProxy: ${name} ${REFUSED[name] ?? 'is no option of it'}`)
  }
  for (const name of ['changeOrigin', 'secure', 'selfHandleResponse'] as const) {
    const value: unknown = options[name]
    if (value !== undefined && value !== true) {
      throw new TypeError(`governedProxy: ${name} is always true`)
    }
  }
  const { proxyTimeout, ssl = {} } = options
  if (proxyTimeout !== undefined && !(Number.isInteger(proxyTimeout) && proxyTimeout > 0)) {
    throw new TypeError('governedProxy: proxyTimeout is a whole number of milliseconds')
  }
  const url = new URL(options.target)
  if (`${url.origin}/` !== url.href) {
    throw new TypeError(`governedProxy: target is an origin; a path behind it ${OTHER_BYTES}`)
  }
  return { origin: url.origin, totalMs: proxyTimeout, tls: ssl }
}
