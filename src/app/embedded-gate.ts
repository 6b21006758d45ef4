import { loadConfig } from '../config/load.js'
import { type GateConfig, sayProblem } from '../config/model.js'
import { GateError } from '../core/error.js'
import { type GatedFetch, gatedFetch } from '../mounts/function/fetch.js'
import { type Wrapped, wrap } from '../mounts/function/wrap.js'
import {
  type CreateOptions,
  narrowed,
  type OpenGate,
  createGate as openFromConfig,
} from './create-gate.js'
import { createUpstreams } from './upstreams.js'

/** A running gate for use inside a program. */
export type EmbeddedGate = OpenGate & {
  /** Puts the gate around a function; refusals are thrown as GateRefusal. */
  wrap<A, R>(tool: string, run: (args: A) => Promise<R> | R): Wrapped<A, R>
  /** `fetch` to the configured upstreams, judged and observed. */
  readonly fetch: GatedFetch
}

/** From gate.yaml, by path or already loaded. Rejects where `serve` would refuse to start. */
export async function createGate(
  of: string | GateConfig,
  options: CreateOptions & {
    readonly env?: Readonly<Record<string, string | undefined>>
  } = {},
): Promise<EmbeddedGate> {
  const { env = process.env, ...more } = options
  const config = typeof of === 'string' ? loaded(of, env) : of
  const gate = narrowed(await openFromConfig(config, more))
  const upstreams = createUpstreams(config, env)
  return {
    ...gate,
    wrap: (tool, run) => wrap(gate, tool, run),
    fetch: gatedFetch(gate, { upstreams, holdBytes: config.limits.hold_bytes }),
    async close() {
      await Promise.all([...upstreams.values()].map(({ upstream }) => upstream.close()))
      await gate.close()
    },
  }
}

function loaded(path: string, env: Readonly<Record<string, string | undefined>>): GateConfig {
  const read = loadConfig(path, env)
  if (read.ok) return read.config
  throw new GateError('config_invalid', read.problems.map(sayProblem).join('\n'))
}
