import { isIP } from 'node:net'
import { z } from 'zod'
import { EVENT_TYPES } from '../adapters/webhook/model.js'
import { bareHost, isPublicAddress } from '../adapters/webhook/post.js'
import {
  agentName,
  credential,
  file,
  host,
  milliseconds,
  name,
  one,
  origin,
  parseUrl,
  path,
  port,
  seconds,
  sha256,
  variable,
} from './fields.js'
import { issuer, mandateIssuer } from './issuers.js'
import { mcpServer } from './mcp.js'

const upstream = z
  .strictObject({
    url: origin,
    ca_file: file.optional(),
    cert_file: file.optional(),
    key_file: file.optional(),
    credential: credential.optional(),
    /** `exact`: it tells every spelling of a path apart, so a parameter may look like a literal. */
    paths: z.enum(['folded', 'exact']).default('folded'),
    /** Upper bounds: a tool's own deadlines hold below them. */
    deadlines: z
      .strictObject({
        connect_ms: milliseconds.optional(),
        first_byte_ms: milliseconds.optional(),
        total_ms: milliseconds.optional(),
      })
      .prefault({}),
  })
  .refine(
    ({ cert_file, key_file }) => (cert_file === undefined) === (key_file === undefined),
    'expected cert_file and key_file together',
  )

const agent = z
  .strictObject({
    token_sha256: sha256.optional(),
    token_sha256_env: variable.optional(),
    token_sha256_file: file.optional(),
    roles: z.array(agentName).max(64).default([]),
    developer: z.string().min(1).max(256).optional(),
  })
  .refine(
    (value) =>
      ['token_sha256', 'token_sha256_env', 'token_sha256_file'].filter(
        (key) => value[key as keyof typeof value] !== undefined,
      ).length <= 1,
    'expected one of token_sha256, token_sha256_env, token_sha256_file',
  )
const agents = z.record(agentName, agent)

/** An approval system that delivers people's decisions, or its own. */
const decisionSource = z
  .strictObject({
    secret_env: variable.optional(),
    secret_file: file.optional(),
    /** It vouches for the person it names; otherwise what it says is policy's word. */
    asserts_people: z.boolean().default(false),
    /** Its own id of a person → the name of an approver's token here. */
    people: z.record(z.string().min(1).max(256), z.string().min(1).max(256)).prefault({}),
    /** What it may decide by itself. */
    roles: z.array(name).min(1).max(64).default(['approver']),
  })
  .refine(one('secret_env', 'secret_file'), 'expected either secret_env or secret_file')
  .refine(
    ({ asserts_people, people }) => asserts_people || Object.keys(people).length === 0,
    'people goes with asserts_people: true',
  )

const listenerTls = z.strictObject({
  cert_file: file,
  key_file: file,
  client_ca_file: file.optional(),
})
const route = z.strictObject({ path, upstream: name.default('default') })

const webhook = z
  .strictObject({
    url: z.string().max(2048),
    events: z
      .array(z.enum(EVENT_TYPES))
      .min(1)
      .max(EVENT_TYPES.length)
      .refine((events) => new Set(events).size === events.length, 'expected each event once'),
    secret_env: variable.optional(),
    secret_file: file.optional(),
    /** Plain http and addresses of one's own network: for a receiver beside the gate. */
    allow_private: z.boolean().default(false),
  })
  .superRefine((hook, context) => {
    const fault = (message: string): void =>
      context.addIssue({ code: 'custom', path: ['url'], message })
    const url = parseUrl(hook.url)
    if (url === null || !/^https?:$/.test(url.protocol)) fault('expected an https URL')
    else if (url.username !== '' || url.password !== '' || url.hash !== '') {
      fault('expected no user, password or fragment: the receiver checks the signature instead')
    } else if (!hook.allow_private && url.protocol !== 'https:') {
      fault('expected https; plain http needs allow_private: true')
    } else if (
      !hook.allow_private &&
      isIP(bareHost(url)) !== 0 &&
      !isPublicAddress(bareHost(url))
    ) {
      fault('this is no public address; it needs allow_private: true')
    }
    if (hook.secret_env !== undefined && hook.secret_file !== undefined) {
      context.addIssue({
        code: 'custom',
        path: ['secret_file'],
        message: 'expected secret_env or secret_file, not both',
      })
    }
  })

/**
 * gate.yaml. Unknown keys are errors, everything has a default, and no key takes a secret: only the
 * name of an environment variable or of a file that holds it. Published by `config schema`.
 */
export const gateFile = z
  .strictObject({
    // The short form, for one API.
    upstream: origin.optional(),
    credential: credential.optional(),
    agents: agents.optional(),

    operator: z.string().min(1).max(256).default('local'),
    mode: z.enum(['enforce', 'observe']).default('enforce'),
    data_dir: file.default('data'),
    manifests: file.default('manifests'),
    policies: file.default('policies'),
    upstreams: z.record(name, upstream).prefault({}),
    /** MCP servers, each at /mcp/NAME of the data listener. */
    mcp: z.record(name, mcpServer).prefault({}),
    listeners: z
      .strictObject({
        data: z
          .strictObject({
            host: host.default('127.0.0.1'),
            port: port.default(8080),
            tls: listenerTls.optional(),
          })
          .prefault({}),
        admin: z
          .strictObject({
            host: host.default('127.0.0.1'),
            port: port.default(8081),
            /** Where people reach it: what agents are told as the page on which somebody decides. */
            public_url: origin.optional(),
          })
          .prefault({}),
        /** Prometheus text without a token, on 127.0.0.1 and nowhere else. */
        metrics: z.strictObject({ port }).optional(),
      })
      .prefault({}),
    identity: z
      .strictObject({
        agents: agents.prefault({}),
        jwt: z.array(issuer).max(32).default([]),
        mandates: z.array(mandateIssuer).max(32).default([]),
        mtls: z.record(z.string().min(1).max(1024), agentName).prefault({}),
      })
      .prefault({}),
    limits: z
      .strictObject({
        body_bytes: z.int().min(1).max(1_073_741_824).default(10_485_760),
        hold_bytes: z.int().min(0).max(1_073_741_824).default(1_048_576),
        /** Octets of request bodies that one agent may have in flight. */
        agent_body_bytes: z.int().min(1).max(1_099_511_627_776).default(67_108_864),
        /** Memory of all answers that are held back at once. */
        held_bytes: z.int().min(0).max(1_099_511_627_776).default(268_435_456),
        /** Idempotency keys that are remembered of one agent. */
        agent_keys: z.int().min(1).max(100_000_000).default(100_000),
        pre_identity: z
          .strictObject({
            refusals: z.int().min(1).max(1_000_000).default(100),
            window_seconds: seconds.default(60),
          })
          .prefault({}),
        mcp_sessions: z
          .strictObject({
            /** Each is a process of its own where the server is a command. */
            per_agent: z.int().min(1).max(10_000).default(16),
            idle_seconds: seconds.default(1_800),
          })
          .prefault({}),
        event_loop_delay_ms: z.int().min(10).max(60_000).default(500),
        drain_seconds: z.int().min(0).max(3600).default(30),
      })
      .prefault({}),
    intent: z
      .strictObject({
        /** What becomes of a declaration whose texts hold marks of personal data. */
        pii: z.enum(['reject', 'flag', 'off']).default('reject'),
        /** How far an agent's clock may be from the gate's. */
        skew_seconds: seconds.default(300),
        /** So many declarations of another mission escalate their session. */
        mission_mismatches: z.int().min(1).max(1_000_000).default(3),
        /** False: only external auditors may read declarations, whatever an agent says of its own. */
        audit_accessible: z.boolean().default(true),
      })
      .prefault({}),
    sessions: z.strictObject({ idle_seconds: seconds.default(3_600) }).prefault({}),
    journal: z
      .strictObject({
        segment_bytes: z.int().min(65_536).max(1_073_741_824).default(67_108_864),
        head_file: file.optional(),
      })
      .prefault({}),
    evidence: z.strictObject({ master_key_file: file.optional() }).prefault({}),
    idempotency: z.strictObject({ ttl_seconds: seconds.default(86_400) }).prefault({}),
    webhooks: z.record(name, webhook).prefault({}),
    passthrough: z.array(route).max(256).default([]),
    websocket: z.array(route).max(256).default([]),
    approvals: z
      .strictObject({
        /** So many calls of one agent may wait for people at once. */
        open_per_agent: z.int().min(1).max(100_000).default(100),
        /** So many calls of one session may wait for people at once. */
        open_per_session: z.int().min(1).max(100_000).default(3),
        /** Whether people can be asked. Default: yes under `serve`, no for a gate inside a program. */
        enabled: z.boolean().optional(),
        sources: z.record(name, decisionSource).prefault({}),
      })
      .prefault({}),
    log: z
      .strictObject({ level: z.enum(['debug', 'info', 'warn', 'error']).default('info') })
      .prefault({}),
    /** How much a refused agent is told beside the stable code. */
    deny_detail: z.enum(['code', 'explain']).default('explain'),
  })
  .superRefine((config, context) => {
    const fault = (at: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [at], message })
    if (config.upstream === undefined && config.credential !== undefined) {
      fault('credential', 'credential goes with upstream: expected both')
    }
    if (config.upstream !== undefined && config.upstreams.default !== undefined) {
      fault('upstream', 'upstream is upstreams.default: expected one of the two')
    }
    for (const agent of Object.keys(config.agents ?? {})) {
      if (config.identity.agents[agent] !== undefined) {
        fault('agents', `${agent} is also under identity.agents: expected it once`)
      }
    }
  })

export type GateFile = z.infer<typeof gateFile>

/** Draft 2020-12, of what may be written: defaults are told, not demanded. */
export const gateJsonSchema = (): Record<string, unknown> => ({
  title: 'capsule-gate: gate.yaml',
  ...z.toJSONSchema(gateFile, { io: 'input', target: 'draft-2020-12' }),
})
