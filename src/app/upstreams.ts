import { readFileSync } from '../adapters/disk/files.js'
import {
  createUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../adapters/http-client/upstream.js'
import type { GateConfig, UpstreamConfig } from '../config/model.js'
import { readSecret } from '../config/secret-ref.js'
import type { ToolRule } from '../core/manifest/model.js'

export type NamedUpstream = {
  readonly upstream: Upstream
  /** `https://payments.internal`, for redirects that stay on it. */
  readonly origin: string
  /** Upper bounds on what a manifest may ask for. */
  readonly deadlines: Partial<ToolRule['deadlines']>
}

/** One adapter per configured upstream. Credentials are the gate's own: read per call, never an agent's. */
export const createUpstreams = (
  { upstreams, limits }: GateConfig,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, NamedUpstream> =>
  new Map(
    Object.entries(upstreams).map(([name, config]) => [
      name,
      upstreamOf(name, config, limits.hold_bytes, env),
    ]),
  )

function upstreamOf(
  name: string,
  config: UpstreamConfig,
  holdLimit: number,
  env: Readonly<Record<string, string | undefined>>,
): NamedUpstream {
  const { connect_ms, first_byte_ms, total_ms } = config.deadlines
  return {
    origin: new URL(config.origin).origin,
    deadlines: {
      ...(connect_ms === undefined ? {} : { connect_ms }),
      ...(first_byte_ms === undefined ? {} : { first_byte_ms }),
      ...(total_ms === undefined ? {} : { total_ms }),
    },
    upstream: createUpstream(upstreamOptions(name, config, holdLimit, env)),
  }
}

/** gate.yaml → what the way to one upstream is made of; its files are read here. */
export function upstreamOptions(
  name: string,
  { origin, ca_file, client, credential }: UpstreamConfig,
  holdLimit: number,
  env: Readonly<Record<string, string | undefined>>,
): UpstreamOptions {
  return {
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
              const secret = readSecret(credential.secret, env)
              if (!secret.ok) throw new Error(secret.why)
              return secret.value
            },
          },
        }),
  }
}
