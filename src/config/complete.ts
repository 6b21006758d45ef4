import { resolve } from 'node:path'
import { parseSecrets } from '../adapters/webhook/sign.js'
import { freeze, record, type SourceTree } from '../core/manifest/expand/tree.js'
import { escapePointer } from '../core/manifest/route/pointer.js'
import { claimedTwice, issuerOf, mandateIssuerOf } from './complete-issuers.js'
import {
  type AgentConfig,
  type ConfigProblem,
  type GateConfig,
  type LoadedConfig,
  type McpConfig,
  problem,
  type SecretRef,
  type SourceConfig,
  type UpstreamConfig,
  type WebhookConfig,
} from './model.js'
import type { GateFile } from './schema.js'
import { readSecret } from './secret-ref.js'

export type Origin = {
  readonly file: string | null
  /** Relative paths start here: the folder of the file. */
  readonly base: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly label: string
  readonly tree: SourceTree
}

/** Where a gate keeps what it writes; absolute paths. */
export type DataPaths = {
  readonly data_dir: string
  readonly head_file: string
  readonly master_key_file: string
}

export function dataPathsOf(given: GateFile, base: string): DataPaths {
  const data_dir = resolve(base, given.data_dir)
  const { head_file } = given.journal
  const { master_key_file } = given.evidence
  return {
    data_dir,
    // Elsewhere than the journal (DESIGN §5): beside the data folder, not inside it.
    head_file: head_file === undefined ? `${data_dir}.head` : resolve(base, head_file),
    master_key_file:
      master_key_file === undefined
        ? resolve(data_dir, 'keys', 'evidence.key')
        : resolve(base, master_key_file),
  }
}

/** Short forms folded in, paths absolute, secrets known to be there. */
export function completeConfig(given: GateFile, origin: Origin): LoadedConfig {
  const problems: ConfigProblem[] = []
  const path = (relative: string): string => resolve(origin.base, relative)
  const maybe = (relative: string | undefined): string | null =>
    relative === undefined ? null : path(relative)
  const fault = (pointer: string, message: string, wayOut: string): void => {
    problems.push(problem(origin.label, origin.tree.at(pointer), message, wayOut))
  }

  /** A secret must be there at start; `check` says what is wrong with its value. */
  function secretOf(
    at: string,
    { env, file }: { env?: string | undefined; file?: string | undefined },
    check: (value: string) => readonly [message: string, wayOut: string] | null = () => null,
  ): SecretRef {
    const ref: SecretRef =
      env === undefined ? { kind: 'file', path: path(file ?? '') } : { kind: 'env', name: env }
    const read = readSecret(ref, origin.env)
    const found = read.ok ? check(read.value) : [read.why, 'provide it before the gate starts']
    if (found !== null) fault(at, found[0] as string, found[1] as string)
    return ref
  }

  function upstreamOf(at: string, up: GateFile['upstreams'][string]): UpstreamConfig {
    const { cert_file, key_file, credential } = up
    return {
      origin: new URL(up.url).origin,
      ca_file: maybe(up.ca_file),
      client:
        cert_file === undefined || key_file === undefined
          ? null
          : { cert_file: path(cert_file), key_file: path(key_file) },
      credential:
        credential === undefined
          ? null
          : { header: credential.header, secret: secretOf(`${at}/credential`, credential) },
      deadlines: up.deadlines,
      paths: up.paths,
    }
  }

  function mcpOf(at: string, server: GateFile['mcp'][string]): McpConfig {
    const { command, cwd, env, url, ca_file, credential, ...rest } = server
    const to: McpConfig['to'] =
      command === undefined
        ? {
            kind: 'url',
            url: url ?? '',
            ca_file: maybe(ca_file),
            credential:
              credential === undefined
                ? null
                : { header: credential.header, secret: secretOf(`${at}/credential`, credential) },
          }
        : { kind: 'command', command, cwd: maybe(cwd), env }
    return { ...rest, to }
  }

  function agentOf(
    at: string,
    agent: GateFile['identity']['agents'][string],
    name: string,
  ): AgentConfig {
    const { token_sha256, token_sha256_env: env, token_sha256_file: file } = agent
    let hash = token_sha256 ?? null
    if (env !== undefined || file !== undefined) {
      secretOf(at, { env, file }, (value) => {
        if (!/^[0-9a-f]{64}$/.test(value)) {
          const message = `${name}: not a SHA-256 in 64 lower-case hex digits`
          return [message, 'hash the token, not store it']
        }
        hash = value
        return null
      })
    }
    return { token_sha256: hash, roles: agent.roles, developer: agent.developer ?? name }
  }

  function sourceOf(at: string, source: GateFile['approvals']['sources'][string]): SourceConfig {
    const { secret_env: env, secret_file: file, asserts_people, people, roles } = source
    // With another value every delivery would be refused at run time, without a visible cause.
    const secret = secretOf(at, { env, file }, (value) =>
      /^(?:whsec_)?[A-Za-z0-9+/]{32,}={0,2}$/.test(value)
        ? null
        : [
            'the secret is not whsec_ and base64 of 24 octets or more',
            'make one: echo whsec_$(openssl rand -base64 32)',
          ],
    )
    return { secret, asserts_people, people, roles }
  }

  function webhookOf(at: string, hook: GateFile['webhooks'][string]): WebhookConfig {
    const { url, events, secret_env: env, secret_file: file, allow_private } = hook
    const named = env !== undefined || file !== undefined
    const secret = named
      ? secretOf(at, { env, file }, (value) =>
          parseSecrets(value) === null
            ? ['not a webhook secret', 'expected whsec_ and 24 to 64 bytes in base64']
            : null,
        )
      : null
    return { url, events, secret, allow_private }
  }

  const pointer = (under: string, name: string): string => `${under}/${escapePointer(name)}`
  const each = <T, R>(
    under: string,
    given: Readonly<Record<string, T>>,
    complete: (at: string, one: T, name: string) => R,
  ) =>
    Object.entries(given).map(
      ([name, one]) => [name, complete(pointer(under, name), one, name)] as const,
    )
  const { upstream: url, credential } = given
  const short =
    url === undefined
      ? {}
      : { default: { url, credential, deadlines: {}, paths: 'folded' as const } }
  const upstreams = record([
    ...Object.entries(short).map(([name, up]) => [name, upstreamOf('', up)] as const),
    ...each('/upstreams', given.upstreams, upstreamOf),
  ])
  const agents = record([
    ...each('/agents', given.agents ?? {}, agentOf),
    ...each('/identity/agents', given.identity.agents, agentOf),
  ])
  sharedTokens(agents, (name, other) =>
    fault('/agents', `${name} and ${other} have the same token`, 'give each its own'),
  )
  for (const [key, routes] of [
    ['passthrough', given.passthrough],
    ['websocket', given.websocket],
  ] as const) {
    for (const [index, { upstream }] of routes.entries()) {
      if (!(upstream in upstreams)) {
        fault(`/${key}/${index}`, `there is no upstream ${upstream}`, 'name one of upstreams')
      }
    }
  }
  for (const [subject, agent] of Object.entries(given.identity.mtls)) {
    if (agent in agents) continue
    const at = pointer('/identity/mtls', subject)
    fault(at, `there is no agent ${agent}`, 'write it under identity.agents')
  }
  claimedTwice(given.identity, fault)
  const { data_dir, head_file, master_key_file } = dataPathsOf(given, origin.base)
  const { tls, ...data } = given.listeners.data
  const config: GateConfig = {
    file: origin.file,
    operator: given.operator,
    mode: given.mode,
    data_dir,
    manifests: path(given.manifests),
    policies: path(given.policies),
    upstreams,
    mcp: record(each('/mcp', given.mcp, mcpOf)),
    listeners: {
      data: {
        ...data,
        tls:
          tls === undefined
            ? null
            : {
                cert_file: path(tls.cert_file),
                key_file: path(tls.key_file),
                client_ca_file: maybe(tls.client_ca_file),
              },
      },
      admin: given.listeners.admin,
      metrics: given.listeners.metrics ?? null,
    },
    identity: {
      agents,
      jwt: given.identity.jwt.map((issuer) => issuerOf(issuer, path)),
      mandates: given.identity.mandates.map((issuer) => mandateIssuerOf(issuer, path)),
      mtls: given.identity.mtls,
    },
    limits: given.limits,
    journal: { segment_bytes: given.journal.segment_bytes, head_file },
    evidence: { master_key_file },
    idempotency: given.idempotency,
    intent: given.intent,
    sessions: given.sessions,
    webhooks: record(each('/webhooks', given.webhooks, webhookOf)),
    passthrough: given.passthrough,
    websocket: given.websocket,
    approvals: {
      open_per_agent: given.approvals.open_per_agent,
      open_per_session: given.approvals.open_per_session,
      enabled: given.approvals.enabled ?? null,
      sources: record(each('/approvals/sources', given.approvals.sources, sourceOf)),
    },
    log: given.log,
    deny_detail: given.deny_detail,
  }
  return problems.length === 0 ? { ok: true, config: freeze(config) } : { ok: false, problems }
}

function sharedTokens(
  agents: Readonly<Record<string, AgentConfig>>,
  found: (name: string, other: string) => void,
): void {
  const owners = new Map<string, string>()
  for (const [name, { token_sha256 }] of Object.entries(agents)) {
    if (token_sha256 === null) continue
    const other = owners.get(token_sha256)
    if (other !== undefined) found(name, other)
    owners.set(token_sha256, name)
  }
}
