import type { EventType } from '../adapters/webhook/model.js'
import type { Mode } from '../core/capsule/model.js'
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
export type AgentConfig = {
  /** SHA-256 of the agent's token, hex, from wherever it was kept; null for one known otherwise. */
  readonly token_sha256: string | null
  readonly roles: readonly string[]
  readonly developer: string
}
export type IssuerConfig = {
  readonly issuer: string
  readonly audience: string
  readonly jwks:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'url'; readonly url: string }
  readonly agent_claim: string
  readonly roles_claim: string
  readonly developer_claim: string | null
}
export type SourceConfig = {
  readonly secret: SecretRef
  readonly asserts_people: boolean
  /** The system's own id of a person → the name of an approver's token here. */
  readonly people: { readonly [id: string]: string }
  readonly roles: readonly string[]
}
export type WebhookConfig = {
  readonly url: string
  readonly events: readonly EventType[]
  /** Null: signed with the gate's own key alone. */
  readonly secret: SecretRef | null
  readonly allow_private: boolean
}
export type RouteConfig = { readonly path: string; readonly upstream: string }

/** gate.yaml after short forms, environment and defaults; every path absolute. Frozen. */
export type GateConfig = {
  /** The file it came from; null without one. */
  readonly file: string | null
  readonly operator: string
  readonly mode: Mode
  readonly data_dir: string
  readonly manifests: string
  readonly policies: string
  readonly upstreams: { readonly [name: string]: UpstreamConfig }
  readonly listeners: {
    readonly data: {
      readonly host: string
      readonly port: number
      readonly tls: {
        readonly cert_file: string
        readonly key_file: string
        readonly client_ca_file: string | null
      } | null
    }
    readonly admin: { readonly host: string; readonly port: number }
    readonly metrics: { readonly port: number } | null
  }
  readonly identity: {
    readonly agents: { readonly [name: string]: AgentConfig }
    readonly jwt: readonly IssuerConfig[]
    /** Subject of a client certificate → agent. */
    readonly mtls: { readonly [subject: string]: string }
  }
  readonly limits: GateFile['limits']
  readonly journal: { readonly segment_bytes: number; readonly head_file: string }
  readonly evidence: { readonly master_key_file: string }
  readonly idempotency: { readonly ttl_seconds: number }
  readonly webhooks: { readonly [name: string]: WebhookConfig }
  readonly passthrough: readonly RouteConfig[]
  readonly websocket: readonly RouteConfig[]
  readonly approvals: {
    readonly open_per_agent: number
    /** Null: as the mount has it, on under `serve` and off inside a program. */
    readonly enabled: boolean | null
    readonly sources: { readonly [name: string]: SourceConfig }
  }
  readonly log: GateFile['log']
  readonly deny_detail: GateFile['deny_detail']
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
