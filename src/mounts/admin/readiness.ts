import { connect } from 'node:net'
import type { Gate } from '../../gate/gate.js'
import type { Check } from '../../gate/operate/checks.js'

export type Readiness = () => Promise<readonly Check[]>

type Options = {
  readonly gate: Pick<Gate, 'read'>
  /** Name → origin. */
  readonly upstreams: Readonly<Record<string, string>>
  /** The data plane's own word: false first when it closes. */
  readonly dataPlane?: (() => boolean) | undefined
}

const CONNECT_MS = 1_000
/** Probes come often; upstreams are connected to no oftener than this. */
const KEEP_MS = 5_000

/** Should calls be sent here? Each answer has a name, so that the reader of a 503 knows where to look. */
export function createReadiness({ gate, upstreams: origins, dataPlane }: Options): Readiness {
  const upstreams = upstreamCheck(origins)
  return async () => [
    ...gate.read.checks(),
    await upstreams(),
    gate.read.verification(),
    gate.read.evidenceRecords(),
    ...(dataPlane === undefined ? [] : [planeCheck(dataPlane())]),
  ]
}

const planeCheck = (ok: boolean): Check => ({
  name: 'data_plane',
  ok,
  detail: ok ? null : 'closing or shedding load',
})

function upstreamCheck(origins: Readonly<Record<string, string>>): () => Promise<Check> {
  let asked = Number.NEGATIVE_INFINITY
  let latest: Promise<Check> | null = null
  return () => {
    const now = performance.now()
    if (latest === null || now - asked > KEEP_MS) {
      asked = now
      latest = probe(origins)
    }
    return latest
  }
}

async function probe(origins: Readonly<Record<string, string>>): Promise<Check> {
  const found = await Promise.all(
    Object.entries(origins).map(async ([name, origin]) => {
      const why = await unreachable(new URL(origin))
      return why === null ? [] : [`${name}: ${why}`]
    }),
  )
  const faults = found.flat()
  return { name: 'upstreams', ok: faults.length === 0, detail: faults.join('; ') || null }
}

/** A TCP connection and nothing said over it: a request would be a call without a record. */
export function unreachable(url: URL, ms = CONNECT_MS): Promise<string | null> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const done = (why: string | null): void => {
      socket.destroy()
      resolve(why)
    }
    socket.setTimeout(ms, () => done(`no connection within ${ms} ms`))
    socket.once('connect', () => done(null))
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message))
  })
}
