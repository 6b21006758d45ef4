import { join } from 'node:path'
import { existsSync } from '../adapters/disk/files.js'
import type { Context, Endpoint, WebhookReport } from '../adapters/webhook/model.js'
import { type EndpointStats, type OutboxOptions, startOutbox } from '../adapters/webhook/outbox.js'
import { type Resolve, systemResolve } from '../adapters/webhook/post.js'
import { parseSecrets } from '../adapters/webhook/sign.js'
import type { GateConfig, WebhookConfig } from '../config/model.js'
import { readSecret } from '../config/secret-ref.js'
import type { GateReport } from '../gate/context.js'
import { signed } from '../gate/signed-event.js'
import type { Timer } from '../ports/clock.js'
import { systemTimer } from './clock.js'
import type { RunningGate } from './open-gate.js'

export type WebhookDeps = {
  readonly report: (event: GateReport) => void
  /** Origin of the admin plane, for links; null where nobody can reach it. */
  readonly adminUrl: string | null
  readonly env?: Readonly<Record<string, string | undefined>>
  /** For a counter such as gate_webhook_deliveries_total. */
  readonly count?: (outcome: 'delivered' | 'retry' | 'dead', endpoint: string) => void
  readonly timer?: Timer
  readonly resolve?: Resolve
  readonly random?: () => number
  readonly seam?: NonNullable<OutboxOptions['seam']>
}
export type Webhooks = {
  stats(): readonly EndpointStats[]
  close(): Promise<void>
}

export const webhookFolder = (dataDir: string): string => join(dataDir, 'webhooks')

/**
 * Notifications of a running gate; to be closed before it. Lines written before this is called are
 * told all the same, except at the very first start with webhooks: those get no history.
 */
export async function startWebhooks(
  gate: Pick<RunningGate, 'data' | 'parts' | 'heads'>,
  config: Pick<GateConfig, 'webhooks' | 'data_dir'>,
  deps: WebhookDeps,
): Promise<Webhooks> {
  const folder = webhookFolder(config.data_dir)
  const { journal, state, signer, subscribe } = gate.data
  const { env = process.env, adminUrl } = deps
  const endpoints = Object.entries(config.webhooks).map(([name, hook]) =>
    endpointOf(name, hook, env),
  )
  // A folder from earlier is opened even so: what was to be sent has to end somewhere visible.
  if (endpoints.length === 0 && !existsSync(folder)) {
    return { stats: () => [], close: async () => undefined }
  }
  const recording = new Set<Promise<unknown>>()
  const outbox = await startOutbox({
    folder,
    endpoints,
    origin: journal.origin,
    async present() {
      const { seq: cursor } = journal.head()
      return { cursor, context: await contextOf(state) }
    },
    lines: (from) => journal.lines(from),
    subscribe,
    signer,
    clock: gate.parts.clock,
    timer: deps.timer ?? systemTimer,
    random: deps.random ?? Math.random,
    resolve: deps.resolve ?? systemResolve,
    link: (page) => (adminUrl === null ? null : `${adminUrl}${page}`),
    report(told) {
      report(told, deps)
      const noted = note(told, gate)
      if (noted === null) return
      const done = noted.catch((error: unknown) =>
        deps.report({ level: 'error', event: 'webhook_not_recorded', detail: String(error) }),
      )
      recording.add(done)
      void done.finally(() => recording.delete(done))
    },
    ...(deps.seam === undefined ? {} : { seam: deps.seam }),
  })
  const unsubscribe = gate.heads.subscribe(outbox.head)
  return {
    stats: outbox.stats,
    async close() {
      gate.heads.flush()
      unsubscribe()
      await outbox.close()
      await Promise.all(recording)
    },
  }
}

/** gate.yaml → one receiver of notifications. */
export function endpointOf(
  name: string,
  { url, events, secret, allow_private }: WebhookConfig,
  env: Readonly<Record<string, string | undefined>>,
): Endpoint {
  return {
    name,
    url,
    events,
    allowPrivate: allow_private,
    secrets() {
      if (secret === null) return []
      const read = readSecret(secret, env)
      if (!read.ok) throw new Error(read.why)
      const secrets = parseSecrets(read.value)
      if (secrets === null) throw new Error('not a webhook secret')
      return secrets
    },
  }
}

async function contextOf(state: RunningGate['data']['state']): Promise<Context> {
  const approvals = (await state.approvals()).map(
    (approval) =>
      [
        approval.approvalId,
        {
          tool: approval.tool,
          agent: approval.agent,
          operator: approval.operator,
          document_digest: approval.documentDigest,
          capsule_id: approval.parent,
          deadline: { at: approval.deadline.at, on_expiry: approval.deadline.onExpiry },
          approved: approval.state.kind === 'approved',
          ...(approval.sessionId === undefined ? {} : { session_id: approval.sessionId }),
          ...(approval.holds === undefined ? {} : { holds: approval.holds }),
        },
      ] as const,
  )
  return { approvals: new Map(approvals), judges: state.config() }
}

/** That a human could not be told, or that nobody will be told there any more, belongs on the record. */
function note(told: WebhookReport, { parts }: Pick<RunningGate, 'parts'>): Promise<unknown> | null {
  switch (told.kind) {
    case 'disabled':
      return parts.journal.append([signed('WEBHOOK_DISABLED', { endpoint: told.endpoint }, parts)])
    case 'enabled':
      return parts.journal.append([signed('WEBHOOK_ENABLED', { endpoint: told.endpoint }, parts)])
    case 'dead': {
      const { id, endpoint, type, approval, seq, why } = told.delivery
      if (approval === null) return null
      const members = { endpoint, webhook_id: id, event: type, approval_id: approval, of: seq, why }
      return parts.journal.append([signed('WEBHOOK_DEAD', members, parts)])
    }
    default:
      return null
  }
}

function report(told: WebhookReport, { report: say, count }: WebhookDeps): void {
  switch (told.kind) {
    case 'delivered':
      count?.('delivered', told.delivery.endpoint)
      return
    case 'retry': {
      const { id, endpoint, type, tries, why } = told.delivery
      count?.('retry', endpoint)
      say({
        level: 'warn',
        event: 'webhook_retry',
        detail: `${endpoint} ${type} ${id} attempt ${tries}: ${why}`,
      })
      return
    }
    case 'dead': {
      const { id, endpoint, type, why } = told.delivery
      count?.('dead', endpoint)
      say({ level: 'error', event: 'webhook_dead', detail: `${endpoint} ${type} ${id}: ${why}` })
      return
    }
    case 'forgotten':
      say({
        level: 'error',
        event: 'webhook_dead_forgotten',
        detail: `${told.count} of the oldest`,
      })
      return
    case 'disabled':
      say({ level: 'error', event: 'webhook_disabled', detail: told.endpoint })
      return
    case 'enabled':
      say({ level: 'info', event: 'webhook_enabled', detail: told.endpoint })
      return
    case 'order_refused':
    case 'unwritten':
    case 'unread':
      say({ level: 'error', event: `webhook_${told.kind}`, detail: told.why })
  }
}
