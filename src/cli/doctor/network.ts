import { connect } from 'node:tls'
import { readFileSync } from '../../adapters/disk/files.js'
import type { GateConfig, UpstreamConfig } from '../../config/model.js'
import { unreachable } from '../../mounts/admin/readiness.js'
import { attempt, type Check, fail, ok, warn } from './check.js'

const CONNECT_MS = 3_000
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/

/** Where calls go and where operators come in. Connections only: a request would be an ungoverned call. */
export async function checkNetwork(config: GateConfig): Promise<readonly Check[]> {
  const upstreams = await Promise.all(
    Object.entries(config.upstreams).map(([name, upstream]) =>
      attempt(`upstream ${name}`, `check upstreams.${name} in gate.yaml`, () =>
        reach(`upstream ${name}`, upstream),
      ),
    ),
  )
  return [...upstreams.flat(), exposure(config)]
}

async function reach(label: string, upstream: UpstreamConfig): Promise<Check[]> {
  const url = new URL(upstream.origin)
  const why =
    (await unreachable(url, CONNECT_MS)) ??
    (url.protocol === 'https:' ? await untrusted(url, upstream) : null)
  if (why === null) return [ok(label, `${upstream.origin} answers`)]
  return [fail(label, `${upstream.origin}: ${why}`, `check the address, the network and ca_file`)]
}

/** The certificate as the gate itself will judge it. */
function untrusted(url: URL, { ca_file, client }: UpstreamConfig): Promise<string | null> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port) || 443,
      servername: /^[\d.:]+$/.test(host) ? '' : host,
      timeout: CONNECT_MS,
      ...(ca_file === null ? {} : { ca: readFileSync(ca_file) }),
      ...(client === null
        ? {}
        : { cert: readFileSync(client.cert_file), key: readFileSync(client.key_file) }),
    })
    const done = (why: string | null): void => {
      socket.destroy()
      resolve(why)
    }
    socket.once('secureConnect', () => done(null))
    socket.once('timeout', () => done(`no TLS within ${CONNECT_MS} ms`))
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message))
  })
}

function exposure({ listeners }: GateConfig): Check {
  const { host, port } = listeners.admin
  if (LOOPBACK.test(host)) return ok('admin listener', `${host}:${port}, this host only`)
  const detail = `${host}:${port} is reachable from elsewhere, and tokens travel there in clear`
  const fix = 'set listeners.admin.host to 127.0.0.1 and come in through a tunnel or a TLS proxy'
  return warn('admin listener', detail, fix)
}
