import { readFileSync } from '../adapters/disk/files.js'
import type { GateConfig } from '../config/model.js'
import { DEFAULT_LIMITS, type ProxyLimits } from '../mounts/proxy/options.js'
import type { PassRoute } from '../mounts/proxy/pass-through.js'
import type { TlsFiles } from '../mounts/proxy/server.js'

/** gate.yaml → what the data plane is made of. */
export const limitsOf = ({ limits }: GateConfig): ProxyLimits => ({
  ...DEFAULT_LIMITS,
  body: { ...DEFAULT_LIMITS.body, maxBytes: limits.body_bytes },
  holdLimit: limits.hold_bytes,
  maxRefusals: limits.pre_identity.refusals,
  windowSeconds: limits.pre_identity.window_seconds,
  maxLoopDelayMs: limits.event_loop_delay_ms,
})

export const routesOf = ({ passthrough, websocket }: GateConfig): readonly PassRoute[] => [
  ...passthrough.map((route) => ({ ...route, kind: 'http' as const })),
  ...websocket.map((route) => ({ ...route, kind: 'websocket' as const })),
]

export function tlsOf({ listeners }: GateConfig): TlsFiles | undefined {
  const { tls } = listeners.data
  if (tls === null) return undefined
  const clientCa = tls.client_ca_file
  return {
    cert: readFileSync(tls.cert_file, 'utf8'),
    key: readFileSync(tls.key_file, 'utf8'),
    ...(clientCa === null ? {} : { clientCa: readFileSync(clientCa, 'utf8') }),
  }
}
