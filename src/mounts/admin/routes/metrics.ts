import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { GateReport } from '../../../gate/context.js'
import type { Gate } from '../../../gate/gate.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import type { Clock } from '../../../ports/clock.js'
import { route } from '../route.js'

export type Metrics = ReturnType<typeof createMetrics>
type RecordedVerdict = {
  readonly verdict_class: string
  readonly tool: string | null
  readonly mode: string | null
  readonly latency_ms: number | null
  readonly upstream_ms: number | null
}

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const GAP = 'IDP_COMMITMENT_GAP'
const UNWRITTEN = new Set(['capsule_not_written', 'record_unavailable'])

/** A registry of its own: two gates in one process do not share numbers. */
export function createMetrics(clock: Pick<Clock, 'now'>) {
  const registry = new Registry()
  const registers = [registry]
  const verdicts = new Counter({
    name: 'gate_verdicts_total',
    help: 'Verdicts recorded, by class, tool (empty where none matched) and mode.',
    labelNames: ['verdict_class', 'tool', 'mode'] as const,
    registers,
  })
  const decision = new Histogram({
    name: 'gate_decision_seconds',
    help: 'From a call read to its capsule durable, the upstream left out.',
    buckets: SECONDS,
    registers,
  })
  const upstream = new Histogram({
    name: 'gate_upstream_seconds',
    help: 'From the order to send to the end of what was observed.',
    buckets: SECONDS,
    registers,
  })
  const failures = new Counter({
    name: 'gate_capsule_write_failures_total',
    help: 'Calls whose record could not be written.',
    registers,
  })
  const decided = new Histogram({
    name: 'gate_approval_decision_seconds',
    help: 'From an approval opened to each vote on it.',
    buckets: [1, 3, 10, 30, 60, 300, 900, 3600, 14_400, 86_400],
    registers,
  })
  const deliveries = new Counter({
    name: 'gate_webhook_deliveries_total',
    help: 'Webhook deliveries by outcome and endpoint.',
    labelNames: ['outcome', 'endpoint'] as const,
    registers,
  })
  const alerts = new Counter({
    name: 'capsule_gate_alerts_total',
    help: 'Findings that want a person at once, by severity and what was found.',
    labelNames: ['severity', 'trigger'] as const,
    registers,
  })
  alerts.inc({ severity: 'CRITICAL', trigger: GAP }, 0)
  let gate: Pick<Gate, 'read'> | null = null
  const waiting = async () => (await gate?.read.awaiting()) ?? []
  new Gauge({
    name: 'gate_approvals_pending',
    help: 'Open items that await a decision.',
    registers,
    async collect() {
      this.set((await waiting()).length)
    },
  })
  new Gauge({
    name: 'gate_approval_age_seconds',
    help: 'Age of the oldest open item that awaits a decision; 0 without one.',
    registers,
    async collect() {
      const [oldest] = await waiting()
      const age = oldest === undefined ? 0 : clock.now() - Date.parse(oldest.timestamp)
      this.set(Math.max(0, age) / 1000)
    },
  })
  new Gauge({
    name: 'gate_sessions_open',
    help: 'Open sessions of declared calls.',
    registers,
    collect() {
      this.set(gate?.read.sizes().open ?? 0)
    },
  })
  new Gauge({
    name: 'gate_intents_committed',
    help: 'Ids of declarations that are remembered, so that none is used twice.',
    registers,
    collect() {
      this.set(gate?.read.sizes().ids ?? 0)
    },
  })
  new Gauge({
    name: 'gate_policy_info',
    help: 'The policy set and mode in force.',
    labelNames: ['digest', 'mode'] as const,
    registers,
    collect() {
      this.reset()
      if (gate === null) return
      const { policy, mode } = gate.read.judges()
      this.set({ digest: policy.digest, mode }, 1)
    },
  })
  new Gauge({
    name: 'gate_evidence_absent',
    help: 'Digests in the journal that must have evidence: missing from the store, or damaged there.',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const { missing, damaged } = gate?.read.evidenceAbsent() ?? { missing: 0, damaged: 0 }
      this.set({ state: 'missing' }, missing)
      this.set({ state: 'damaged' }, damaged)
    },
  })
  return {
    verdict({ verdict_class, tool, mode, latency_ms, upstream_ms }: RecordedVerdict): void {
      verdicts.inc({ verdict_class, tool: tool ?? '', mode: mode ?? '' })
      if (latency_ms !== null) decision.observe((latency_ms - (upstream_ms ?? 0)) / 1000)
      if (upstream_ms !== null) upstream.observe(upstream_ms / 1000)
    },
    /** Counts reports of records that could not be written. */
    report({ event }: Pick<GateReport, 'event'>): void {
      if (UNWRITTEN.has(event)) failures.inc()
    },
    /** Gauges read this gate when they are asked. */
    watch(running: Pick<Gate, 'read'>): void {
      gate = running
      const { read } = running
      read.subscribe((line) => {
        if (line.type === GAP) alerts.inc({ severity: 'CRITICAL', trigger: GAP })
        if (line.type !== 'APPROVAL_VOTED') return
        void read.approval(line.approval_id).then((approval) => {
          if (approval === null) return
          decided.observe((Date.parse(line.at) - Date.parse(approval.openedAt)) / 1000)
        })
      })
    },
    delivery: (outcome: 'delivered' | 'retry' | 'dead', endpoint: string): void =>
      deliveries.inc({ outcome, endpoint }),
    text: (): Promise<string> => registry.metrics(),
  }
}

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

export const metrics = route({
  method: 'get',
  path: '/metrics',
  summary: 'Prometheus text',
  roles: ADMIN_ROLES.filter((role) => role !== 'external_auditor'),
  answers: { 200: [{ type: 'text/plain' }] },
  handle: async (_, admin) => ({
    kind: 'bytes',
    type: METRICS_TYPE,
    bytes: await admin.metrics.text(),
  }),
})
