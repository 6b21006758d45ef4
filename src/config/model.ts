import type { GateFile } from './schema.js'

/** Where a secret is. It is read when it is needed and kept nowhere in the configuration. */
export type SecretRef =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }

export type UpstreamConfig = {
  /** Scheme, host and port; nothing behind them. */
  readonly origin: string
  readonly ca_file: string | null
  readonly client: { readonly cert_file: string; readonly key_file: string } | null
  readonly credential: { readonly header: string; readonly secret: SecretRef } | null
  readonly deadlines: GateFile['upstreams'][string]['deadlines']
  readonly paths: 'folded' | 'exact'
}
type McpFile = GateFile['mcp'][string]
export type McpConfig = Pick<McpFile, 'trusted' | 'sampling' | 'elicitation' | 'roots' | 'meta'> & {
  readonly to:
    | {
        readonly kind: 'command'
        readonly command: readonly string[]
        readonly cwd: string | null
        readonly env: readonly string[]
      }
    | {
        readonly kind: 'url'
        readonly url: string
        readonly ca_file: string | null
        readonly credential: UpstreamConfig['credential']
      }
}
export type AgentConfig = {
  /** SHA-256 of the agent's token, hex, from wherever it was kept; null for one known otherwise. */
  readonly token_sha256: string | null
  readonly roles: readonly string[]
  readonly developer: string
}
export type IssuerConfig = Pick<
  GateFile['identity']['jwt'][number],
  'issuer' | 'audience' | 'agent_claim' | 'roles_claim'
> & {
  readonly jwks:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'url'; readonly url: string }
  readonly developer_claim: string | null
}
export type MandateIssuerConfig = Pick<
  GateFile['identity']['mandates'][number],
  'issuer' | 'audience' | 'agent_claim' | 'algorithms' | 'require_proof'
> &
  Pick<IssuerConfig, 'jwks'>
export type SourceConfig = Pick<
  GateFile['approvals']['sources'][string],
  'asserts_people' | 'people' | 'roles'
> & { readonly secret: SecretRef }
type Webhook = GateFile['webhooks'][string]
export type WebhookConfig = Pick<Webhook, 'url' | 'allow_private'> & {
  readonly events: readonly Webhook['events'][number][]
  /** Null: signed with the gate's own key alone. */
  readonly secret: SecretRef | null
}
type Named<T> = { readonly [name: string]: T }
type Listeners = GateFile['listeners']

/** gate.yaml after short forms, environment and defaults; every path absolute. Frozen. */
export type GateConfig = Pick<
  GateFile,
  | 'operator'
  | 'mode'
  | 'limits'
  | 'idempotency'
  | 'intent'
  | 'sessions'
  | 'passthrough'
  | 'websocket'
  | 'log'
  | 'deny_detail'
> & {
  /** The file it came from; null without one. */
  readonly file: string | null
  readonly data_dir: string
  readonly manifests: string
  readonly policies: string
  readonly upstreams: Named<UpstreamConfig>
  readonly mcp: Named<McpConfig>
  readonly listeners: Pick<Listeners, 'admin'> & {
    readonly data: Pick<Listeners['data'], 'host' | 'port'> & {
      readonly tls: {
        readonly cert_file: string
        readonly key_file: string
        readonly client_ca_file: string | null
      } | null
    }
    readonly metrics: { readonly port: number } | null
  }
  readonly identity: {
    readonly agents: Named<AgentConfig>
    readonly jwt: readonly IssuerConfig[]
    readonly mandates: readonly MandateIssuerConfig[]
    /** Subject of a client certificate → agent. */
    readonly mtls: Named<string>
  }
  readonly journal: { readonly segment_bytes: number; readonly head_file: string }
  readonly evidence: { readonly master_key_file: string }
  readonly webhooks: Named<WebhookConfig>
  readonly approvals: Pick<GateFile['approvals'], 'open_per_agent' | 'open_per_session'> & {
    /** Null: as the mount has it, on under `serve` and off inside a program. */
    readonly enabled: boolean | null
    readonly sources: Named<SourceConfig>
  }
}

/** What is wrong in which file, and the way out. `file` is `env NAME` for an override. */
export type ConfigProblem = {
  readonly file: string
  readonly line: number | null
  readonly column: number | null
  readonly message: string
  readonly way_out: string
}

export type LoadedConfig =
  | { readonly ok: true; readonly config: GateConfig }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

export const problem = (
  file: string,
  at: { readonly line: number; readonly column: number } | null,
  message: string,
  wayOut: string,
): ConfigProblem => ({
  file,
  line: at?.line ?? null,
  column: at?.column ?? null,
  message,
  way_out: wayOut,
})

/** `gate.yaml:3:1: unknown key "upstrem"; known here: …` */
export function sayProblem({ file, line, column, message, way_out }: ConfigProblem): string {
  const place = line === null ? file : `${file}:${line}:${column ?? 1}`
  return `${place}: ${message}; ${way_out}`
}
