import { connect } from 'node:net'
import type { Verified } from '../../adapters/journal/model.js'
import type { RunningGate } from '../../config/wire.js'
import { utf8 } from '../../core/text.js'

export type Check = { readonly name: string; readonly ok: boolean; readonly detail: string | null }
export type Readiness = () => Promise<readonly Check[]>

export type ReadinessOptions = {
  readonly gate: RunningGate
  /** Name → origin. */
  readonly upstreams: Readonly<Record<string, string>>
  /** The data plane's own word: false first when it closes. */
  readonly dataPlane?: () => boolean
}

const CONNECT_MS = 1_000
/** Probes come often; upstreams are knocked at no oftener than this. */
const KEEP_MS = 5_000

/** Should calls be sent here? Each answer has a name, so that whoever reads a 503 knows where to look. */
export function createReadiness(options: ReadinessOptions): Readiness {
  const { journal, evidence, signer } = options.gate.data
  let verified: Verified | null = null
  journal.verified.then(
    (result) => {
      verified = result
    },
    () => undefined,
  )
  const upstreams = upstreamCheck(options.upstreams)
  return async () => [
    { name: 'journal', ...health(journal.health()) },
    { name: 'evidence', ...health(evidence.health()) },
    attempt('keys', () => {
      for (const purpose of ['statement', 'event'] as const) signer.sign(purpose, PROBE)
    }),
    attempt('policy', () => {
      if (options.gate.world().policy.policyIds.length === 0) throw new Error('no policy is loaded')
    }),
    await upstreams(),
    verification(verified),
    ...(options.dataPlane === undefined ? [] : [dataPlane(options.dataPlane())]),
  ]
}

/** Never a message anybody signs: no statement and no event begins like this. */
const PROBE = utf8('capsule-gate/readiness\n')

const health = ({ ok, reason }: { readonly ok: boolean; readonly reason: string | null }) => ({
  ok,
  detail: reason,
})

function attempt(name: string, run: () => void): Check {
  try {
    run()
    return { name, ok: true, detail: null }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}

/** Damage in an old segment turns readiness off; not having read it all yet does not (DESIGN §5). */
function verification(verified: Verified | null): Check {
  const name = 'background_verification'
  if (verified === null) return { name, ok: true, detail: 'under way' }
  return { name, ok: verified.damage === null, detail: verified.damage }
}

const dataPlane = (ok: boolean): Check => ({
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
      latest = knock(origins)
    }
    return latest
  }
}

async function knock(origins: Readonly<Record<string, string>>): Promise<Check> {
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
