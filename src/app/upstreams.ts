import { readFileSync } from '../adapters/disk/files.js'
import { createUpstream, type UpstreamOptions } from '../adapters/http-client/upstream.js'
import type { GateConfig, UpstreamConfig } from '../config/model.js'
import { readSecret } from '../config/secret-ref.js'
import type { NamedUpstream } from '../ports/upstream.js'

/** One adapter per configured upstream. Credentials are the gate's own: read per call, never an agent's. */
export const createUpstreams = (
  { upstreams, limits }: GateConfig,
  env: Readonly<Record<string, string | undefined>>,
): ReadonlyMap<string, NamedUpstream> =>
  new Map(
    Object.entries(upstreams).map(([name, config]) => {
      const upstream = createUpstream(upstreamOptions(name, config, limits.hold_bytes, env))
      return [
        name,
        { upstream, origin: new URL(config.origin).origin, deadlines: config.deadlines },
      ]
    }),
  )

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
    ca: fileAt(ca_file),
    cert: fileAt(client?.cert_file),
    key: fileAt(client?.key_file),
    credential:
      credential === null
        ? undefined
        : {
            header: credential.header,
            value() {
              const secret = readSecret(credential.secret, env)
              if (!secret.ok) throw new Error(secret.why)
              return secret.value
            },
          },
  }
}

const fileAt = (path: string | null | undefined): string | undefined =>
  path === null || path === undefined ? undefined : readFileSync(path, 'utf8')
