import { nodeHashing } from '../adapters/http-client/hashing.js'
import { createUpstream } from '../adapters/http-client/upstream.js'
import type { GateConfig } from '../config/model.js'
import type { Gate } from '../gate/gate.js'
import { type GateMiddleware, type GuardOptions, guardRoutes } from '../mounts/express/gate.js'
import {
  type GovernedProxy,
  type GovernedProxyOptions,
  proxyRoutes,
} from '../mounts/express/governed-proxy.js'
import { readOptions } from '../mounts/express/proxy-options.js'
import { createGate, narrowed, type OpenGate } from './create-gate.js'

/**
 * Express 5 and 4 middleware: every request behind it is judged, run and recorded. It must come before
 * any body parser. Given a configuration it opens the gate itself.
 */
export function gate(of: GateConfig, options?: GuardOptions): GateMiddleware<OpenGate>
export function gate<G extends Gate>(of: G, options?: GuardOptions): GateMiddleware<G>
export function gate(of: Gate | GateConfig, options: GuardOptions = {}): GateMiddleware<Gate> {
  if ('govern' in of) return guardRoutes(Promise.resolve(of), options, nodeHashing)
  const limits = { bodyBytes: of.limits.body_bytes, holdBytes: of.limits.hold_bytes }
  return guardRoutes(createGate(of).then(narrowed), { ...limits, ...options }, nodeHashing)
}

/** An Express route to one upstream, governed; takes http-proxy-middleware's options as far as it can. */
export function governedProxy(options: GovernedProxyOptions): GovernedProxy {
  const { upstream: name = 'default', credential, holdBytes } = options
  const { origin, totalMs, tls } = readOptions(options)
  const upstream = createUpstream({
    name,
    origin,
    holdLimit: holdBytes,
    ...tls,
    credential,
  })
  return proxyRoutes(options.gate, { upstream, origin, deadlines: { total_ms: totalMs } }, options)
}
