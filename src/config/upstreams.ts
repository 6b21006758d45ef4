import { readFileSync } from 'node:fs'
import { createUpstream, type Upstream } from '../adapters/upstream/upstream.js'
import type { GateConfig, UpstreamConfig } from './model.js'
import { readSecret } from './secret-ref.js'

export type NamedUpstream = { readonly upstream: Upstream; readonly origin: string }

/** One adapter per configured upstream. Credentials are the gate's own: read per call, never an agent's. */
export function createUpstreams(
  config: GateConfig,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, NamedUpstream> {
  return new Map(
    Object.entries(config.upstreams).map(([name, upstream]) => [
      name,
      { upstream: open(name, upstream, config.limits.hold_bytes, env), origin: upstream.origin },
    ]),
  )
}

function open(
  name: string,
  { origin, ca_file, client, credential }: UpstreamConfig,
  holdLimit: number,
  env: Readonly<Record<string, string | undefined>>,
): Upstream {
  return createUpstream({
    name,
    origin,
    holdLimit,
    ...(ca_file === null ? {} : { ca: readFileSync(ca_file, 'utf8') }),
    ...(client === null
      ? {}
      : {
          cert: readFileSync(client.cert_file, 'utf8'),
          key: readFileSync(client.key_file, 'utf8'),
        }),
    ...(credential === null
      ? {}
      : {
          credential: {
            header: credential.header,
            value() {
              const read = readSecret(credential.secret, env)
              if (!read.ok) throw new Error(read.why)
              return read.value
            },
          },
        }),
  })
}
