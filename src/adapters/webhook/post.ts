import { lookup } from 'node:dns/promises'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Timer } from '../../ports/clock.js'
import { errnoOf } from '../disk/errno.js'
import type { Endpoint } from './model.js'

export type Address = { readonly address: string; readonly family: number }
export type Resolve = (host: string) => Promise<readonly Address[]>
export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true })

export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | undefined }
  | { readonly kind: 'failed'; readonly why: string }
  /** Aborted by the gate: tells nothing about the receiver. */
  | { readonly kind: 'stopped' }

type PostRequest = Pick<Endpoint, 'url' | 'allowPrivate'> & {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

export const TIMEOUT_MS = 15_000

/**
 * One attempt: no redirect followed, no body read, no connection kept. The host is resolved once, all its addresses
 * are checked, and the connection goes to a checked one: a second look-up could return another (DNS rebinding).
 */
export function post(
  request: PostRequest,
  { resolve, timer }: { readonly resolve: Resolve; readonly timer: Timer },
): Promise<Posted> {
  return new Promise((done) => {
    let sent: ClientRequest | null = null
    let over = false
    const end = (posted: Posted): void => {
      if (over) return
      over = true
      cancel()
      request.signal.removeEventListener('abort', abort)
      sent?.destroy()
      done(posted)
    }
    const fail = (why: string): void => end({ kind: 'failed', why })
    const abort = (): void => end({ kind: 'stopped' })
    const cancel = timer.after(TIMEOUT_MS, () => fail('timeout'))
    request.signal.addEventListener('abort', abort)
    if (request.signal.aborted) abort()
    checkedAddress(request, resolve).then(
      (found) => {
        if (over) return
        if (typeof found === 'string') fail(found)
        else sent = send(request, found, end, fail)
      },
      (error: unknown) => fail(`dns ${codeOf(error)}`),
    )
  })
}

/** The address to connect to, or why there is none. */
async function checkedAddress(
  { url, allowPrivate }: PostRequest,
  resolve: Resolve,
): Promise<Address | string> {
  const target = new URL(url)
  if (target.protocol !== 'https:' && !allowPrivate) return 'plain http is not allowed'
  const host = bareHost(target)
  const family = isIP(host)
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }]
  const [first] = addresses
  if (first === undefined) return 'dns no address'
  // One private address among public ones is how a name is turned against the network behind us.
  if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
    return 'address not public'
  }
  return first
}

/** Outside it: mapped, translated, local, multicast and IPv4-compatible addresses. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** A cloud's metadata service with an address in a public range. */
const METADATA = '168.63.129.16'

/**
 * Whether an address is a public host: in none of the special-purpose ranges that ipaddr.js knows (IANA's
 * registries), and for IPv6 within the one range from which public addresses are given.
 */
export function isPublicAddress(address: string): boolean {
  // `isIP` first: ipaddr.js also reads octal and shortened forms. A zone belongs to local addresses only.
  if (isIP(address) === 0 || address.includes('%') || address === METADATA) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_V6) : true
}

/** The host of a URL as a resolver or `isIP` reads it: without the brackets of IPv6. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

function send(
  { url, headers, body }: PostRequest,
  { address, family }: Address,
  end: (posted: Posted) => void,
  fail: (why: string) => void,
): ClientRequest {
  const target = new URL(url)
  const pinned: LookupFunction = (_host, options, callback) => {
    if (options.all === true) callback(null, [{ address, family }])
    else callback(null, address, family)
  }
  const bytes = Buffer.from(body)
  const start = target.protocol === 'https:' ? httpsRequest : httpRequest
  const request = start({
    hostname: bareHost(target),
    port: target.port === '' ? undefined : Number(target.port),
    path: `${target.pathname}${target.search}`,
    method: 'POST',
    headers: {
      host: target.host,
      'content-type': 'application/json',
      'content-length': bytes.length,
      'user-agent': 'capsule-gate',
      ...headers,
    },
    agent: false,
    lookup: pinned,
  })
  request.on('response', (response: IncomingMessage) => {
    response.on('error', () => undefined)
    end({
      kind: 'answered',
      status: response.statusCode ?? 0,
      retryAfter: response.headers['retry-after'],
    })
  })
  request.on('error', (error) => fail(`connection ${codeOf(error)}`))
  request.end(bytes)
  return request
}

const codeOf = (error: unknown): string =>
  errnoOf(error) ?? (error instanceof Error ? error.name : 'error')
