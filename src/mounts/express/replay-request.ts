import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { fromUtf8 } from '../../core/bytes/text.js'
import { mayBeJson } from '../../core/http/response.js'
import { parse } from '../../core/json/parse.js'
import { OVERRIDE_HEADERS } from '../../core/manifest/route/headers.js'

/** A request as Express and Connect hand it on. */
export type AppRequest = IncomingMessage & { body?: unknown; readonly baseUrl?: string }

/**
 * The judged octets for the handlers behind the gate (DESIGN §2.5): as `req.body`, and once more as the
 * stream, for parsers and uploads that want to read it themselves.
 */
export function replayRequest(req: AppRequest, bytes: Uint8Array): void {
  dropOverrides(req)
  req.body = judgedValue(req, bytes)
  if (!req.readableDidRead) return
  // An ended stream takes nothing back, so the message gets a fresh readable half; its listeners stay.
  Reflect.apply(Readable, req, [{ autoDestroy: false }])
  if (bytes.length > 0) req.push(bytes)
  req.push(null)
}

/** A handler that obeyed one of these would run another method or path than the one that was judged. */
function dropOverrides(req: AppRequest): void {
  const kept: string[] = []
  for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
    const [name = '', value = ''] = req.rawHeaders.slice(i, i + 2)
    if (!OVERRIDE_HEADERS.includes(name.toLowerCase())) kept.push(name, value)
  }
  if (kept.length === req.rawHeaders.length) return
  for (const name of OVERRIDE_HEADERS) {
    delete req.headers[name]
    delete req.headersDistinct[name]
  }
  req.rawHeaders.splice(0, req.rawHeaders.length, ...kept)
}

/** The value that was judged when it is JSON to the strict parser, else the octets themselves. */
function judgedValue({ headers }: AppRequest, bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  const octets = Buffer.from(bytes)
  const { 'content-type': type, 'content-encoding': coding } = headers
  if (!mayBeJson(type ?? null, coding ?? null)) return octets
  const text = fromUtf8(octets)
  return text !== null && parse(octets).ok ? (JSON.parse(text) as unknown) : octets
}
