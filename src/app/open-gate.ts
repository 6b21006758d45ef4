import { join } from 'node:path'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { createIdentity, type IdentityOptions } from '../adapters/identity/identity.js'
import { createMandates } from '../adapters/identity/mandate.js'
import { firstLine } from '../adapters/journal/segments.js'
import { oneTimeEncryption } from '../adapters/one-time.js'
import type { Mode } from '../core/capsule/model.js'
import { GateError } from '../core/error.js'
import type { GateReport, IntentRules, Parts } from '../gate/context.js'
import { type Gate, startGate } from '../gate/gate.js'
import { createAdvice } from '../gate/intent/advice/advice.js'
import type { MemoryLimits } from '../gate/memory.js'
import type { Clock, Timer } from '../ports/clock.js'
import type { Identity, Mandates } from '../ports/identity.js'
import { systemClock, systemIds, systemTimer } from './clock.js'
import { type Data, type DataOptions, openData } from './data/open.js'
import { type JudgesSource, loadJudges, publish } from './judges/load.js'
import { openings } from './judges/openings.js'
import { createPace } from './telemetry/pace.js'
import { createHeadTeller, type HeadTeller } from './telemetry/tell-heads.js'

export type GateOptions = JudgesSource &
  Pick<DataOptions, 'dir' | 'headFile' | 'acceptMissingHead' | 'masterKeyFile' | 'recorder'> & {
    readonly segmentBytes?: number
    readonly snapshotEvery?: number
    readonly idempotencyTtlSeconds?: number
    readonly agentKeys?: number
    readonly memory?: MemoryLimits
    readonly identity: IdentityOptions
    readonly report: (event: GateReport) => void
    readonly clock?: Clock
    readonly timer?: Timer
    /** False: nobody can be asked here, so a route to a human ends as an open item (DESIGN §6). */
    readonly approvals?: boolean
    readonly openPerAgent?: number
    readonly openPerSession?: number
    readonly intents?: Partial<IntentRules>
    readonly sessionIdleSeconds?: number
    readonly denyDetail?: Parts['denyDetail']
    readonly seam?: Parts['seam']
    readonly concluding?: NonNullable<Parts['concluding']>
  }

/** A gate with its data folder open. `close` leaves nothing behind that a restart would have to mend. */
export type RunningGate = Gate & {
  readonly data: Data
  readonly parts: Parts
  readonly identity: Identity
  readonly mandates: Mandates
  readonly heads: Pick<HeadTeller, 'subscribe' | 'flush'>
  /** New manifests, policies or mode. A set that does not load keeps the old one and says why. */
  reload(source: JudgesSource): Promise<readonly string[]>
  close(): Promise<void>
}

const SEGMENT_BYTES = 64 * 1024 * 1024
const SNAPSHOT_EVERY = 50_000
const DAY_SECONDS = 24 * 60 * 60
const OPEN_PER_AGENT = 100
const OPEN_PER_SESSION = 3
const SESSION_IDLE_SECONDS = 60 * 60
const INTENTS: IntentRules = {
  pii: 'reject',
  skewSeconds: 300,
  missionMismatches: 3,
  auditAccessible: true,
}
const AGENT_KEYS = 100_000

/** Wiring by hand: adapters into ports, judges from disk, then recovery and the canary (DESIGN §4). */
export async function openGate(options: GateOptions): Promise<RunningGate> {
  const { report, clock = systemClock, approvals = true } = options
  const loaded = await loadJudges(options)
  if (!loaded.ok) throw new GateError('config_invalid', loaded.problems.join('\n'))
  if (!approvals && loaded.asking.length > 0) {
    const detail = `${loaded.asking.join(', ')} want a person to decide, and approvals are off here: such calls are refused (decision_needed). Set approvals: {enabled: true} where people can be asked.`
    report({ level: 'warn', event: 'approvals_off', detail })
  }
  const timer = options.timer ?? systemTimer
  const heads = createHeadTeller(timer)
  heads.subscribe((head) => report({ level: 'info', event: 'journal_head', head }))
  const data = await openData({
    ...options,
    clock,
    covered: heads.covered,
    segmentBytes: options.segmentBytes ?? SEGMENT_BYTES,
    snapshotEvery: options.snapshotEvery ?? SNAPSHOT_EVERY,
    idempotencyTtlSeconds: options.idempotencyTtlSeconds ?? DAY_SECONDS,
    agentKeys: options.agentKeys ?? AGENT_KEYS,
    sessionIdleSeconds: options.sessionIdleSeconds ?? SESSION_IDLE_SECONDS,
    report({ kind, ...rest }) {
      const level = kind === 'segments_archived' ? 'info' : 'warn'
      report({ level, event: `journal_${kind}`, detail: JSON.stringify(rest) })
    },
  })
  const pace = createPace()
  try {
    await publish(loaded.documents, data.evidence)
    const recorded = recordedJudges(data)
    for (const detail of openings(loaded.judges.manifests, recorded?.manifest_digests ?? [])) {
      report({ level: 'warn', event: 'manifest_warning', detail })
    }
    const mandates = createMandates({ issuers: options.identity.mandates?.issuers ?? [], clock })
    const identity = createIdentity(options.identity, mandates)
    const { gate, parts } = await startGate({
      parts: {
        journal: data.journal,
        evidence: data.evidence,
        state: data.state,
        signer: data.signer,
        keys: data.keys,
        crypto: nodeCrypto,
        clock,
        timer,
        approvals,
        openPerAgent: options.openPerAgent ?? OPEN_PER_AGENT,
        openPerSession: options.openPerSession ?? OPEN_PER_SESSION,
        intents: { ...INTENTS, ...options.intents },
        sessionIdleSeconds: options.sessionIdleSeconds ?? SESSION_IDLE_SECONDS,
        advice: createAdvice(),
        mandates,
        oneTime: oneTimeEncryption,
        denyDetail: options.denyDetail ?? 'explain',
        subscribe: data.subscribe,
        ids: systemIds(clock),
        identity,
        tenant: data.tenant,
        report,
        seam: options.seam ?? (() => undefined),
        ...(options.concluding === undefined ? {} : { concluding: options.concluding }),
      },
      judges: loaded.judges,
      ...(options.memory === undefined ? {} : { memory: options.memory }),
      halts: data.state.halts(),
      orphans: data.state.orphans(),
      unasked: data.state.unasked(),
      recorded,
      backlog: {
        rest: pace.rest,
        async *lines() {
          yield* data.journal.lines(await firstLine(join(options.dir, 'journal')))
        },
      },
    })
    return {
      ...gate,
      parts,
      data,
      identity,
      mandates,
      heads,
      async reload(source) {
        const next = await loadJudges(source, gate.read.judges().policy)
        if (!next.ok) {
          report({ level: 'error', event: 'reload_refused', detail: next.problems.join('\n') })
          return next.problems
        }
        await publish(next.documents, data.evidence)
        await gate.change(next.judges)
        return []
      },
      async close() {
        const stopping = gate.stop()
        pace.stop()
        await stopping
        await data.journal.writeSnapshot(data.state.dump()).catch(() => undefined)
        await data.close()
        heads.flush()
      },
    }
  } catch (error) {
    await data.close()
    heads.flush()
    throw error
  }
}

/** What the journal last said of the judges, in the form `describe` compares. */
function recordedJudges({ state }: Data) {
  const config = state.config()
  if (config === null) return null
  const { policy_digest, manifest_digests, mode } = config
  return { policy_digest, manifest_digests, mode: mode as Mode }
}
