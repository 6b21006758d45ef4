import { Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { createProxyMiddleware } from 'http-proxy-middleware'
import { endToEnd, listOf } from '../../core/http/fields.js'
import { framingOf } from '../../core/http/response.js'
import { OVERRIDE_HEADERS } from '../../core/manifest/route/headers.js'
import type { Release } from '../http/hold-and-release.js'
import { rawHeaders } from '../http/read-request.js'
import type { Report } from './options.js'

export type Passed = { readonly status: number; readonly complete: boolean }

/** The agent's credentials are for the gate, and a read stays a read. */
const STRIPPED = [
  'agent-intent',
  'agent-mandate',
  'authorization',
  'dpop',
  'gate-approval',
  'proxy-authorization',
  ...OVERRIDE_HEADERS,
]
const BAD_GATEWAY: Passed = { status: 502, complete: false }

/** http-proxy-middleware towards one upstream of pass-through routes; the gate writes the response itself. */
export function passUpstream(origin: string, report: Report) {
  const waiting = new WeakMap<IncomingMessage, { release: Release; over: (seen: Passed) => void }>()
  const secure = origin.startsWith('https:')
  const proxy = createProxyMiddleware<IncomingMessage, ServerResponse>({
    target: origin,
    changeOrigin: true,
    selfHandleResponse: true,
    // Without one, every request opens a connection.
    agent: secure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true }),
    proxyTimeout: 30_000,
    ejectPlugins: true,
    plugins: [
      (server) => {
        const failed = (error: Error, req: IncomingMessage, to?: { destroy(): unknown }): void => {
          report({ level: 'warn', event: 'pass_through_failed', detail: error.message })
          const under = waiting.get(req)
          if (under === undefined) to?.destroy()
          else under.over(BAD_GATEWAY)
        }
        server.on('error', failed)
        server.on('econnreset', (error, req) => failed(error, req))
        server.on('proxyRes', (response, req) => {
          const under = waiting.get(req)
          if (under === undefined) response.destroy()
          else deliver(response, req, under.release, under.over)
        })
      },
    ],
  })
  return {
    /** Settles when the upstream's response is over, whole or not; never rejects. */
    pass: (req: IncomingMessage, res: ServerResponse, release: Release): Promise<Passed> =>
      new Promise((resolve) => {
        waiting.set(req, { release, over: resolve })
        strip(req)
        proxy(req, res, (error) => {
          report({ level: 'warn', event: 'pass_through_failed', detail: String(error) })
          resolve(BAD_GATEWAY)
        }).catch(() => resolve(BAD_GATEWAY))
      }),
    upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
      strip(req)
      proxy.upgrade(req, socket, head)
    },
  }
}

/** http-proxy copies these; the raw ones stay as they came. */
function strip({ headers }: IncomingMessage): void {
  for (const name of STRIPPED) delete headers[name]
}

function deliver(
  response: IncomingMessage,
  req: IncomingMessage,
  release: Release,
  over: (seen: Passed) => void,
): void {
  const status = response.statusCode ?? 502
  const all = rawHeaders(response)
  const headers = endToEnd(all, listOf(all, 'connection'))
  const sized = headers.find(([name]) => name === 'content-length')
  const wait = (busy: undefined | Promise<void>): void => {
    if (busy === undefined) return
    response.pause()
    void busy.then(() => response.resume())
  }
  response.on('error', () => {})
  response.on('data', (chunk: Buffer) => wait(release.data(chunk)))
  response.on('close', () => over({ status, complete: response.complete }))
  const declared = sized === undefined ? null : Number(sized[1])
  wait(release.head(status, headers, framingOf(req.method, status, declared)))
}
