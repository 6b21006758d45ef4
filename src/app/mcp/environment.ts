import type { GateConfig, SecretRef } from '../../config/model.js'

type Env = Readonly<Record<string, string | undefined>>

/** What nearly every program needs, and no secret is in. */
const COMMON = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
] as const

/** The environment of a server that gate.yaml names: the common variables, and those that it lists. */
export const childEnvironment = (env: Env, listed: readonly string[]): Record<string, string> =>
  only(env, (name) => listed.includes(name) || COMMON.some((known) => known === name))

/** The environment of a wrapped command: the whole of the gate's own, without the gate's secrets. */
export const wrappedEnvironment = (env: Env, config: GateConfig): Record<string, string> => {
  const secret = secretVariables(config)
  return only(env, (name) => !name.startsWith('GATE_') && !secret.has(name))
}

function only(env: Env, keep: (name: string) => boolean): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && keep(name)) kept[name] = value
  }
  return kept
}

function secretVariables(config: GateConfig): ReadonlySet<string> {
  const refs: (SecretRef | null | undefined)[] = [
    ...Object.values(config.upstreams).map(({ credential }) => credential?.secret),
    ...Object.values(config.mcp).map(({ to }) =>
      to.kind === 'url' ? to.credential?.secret : null,
    ),
    ...Object.values(config.webhooks).map(({ secret }) => secret),
    ...Object.values(config.approvals.sources).map(({ secret }) => secret),
  ]
  return new Set(refs.flatMap((ref) => (ref?.kind === 'env' ? [ref.name] : [])))
}
