import { nodeCrypto } from '../adapters/crypto-node.js'
import { loadManifests, unknownUpstreams } from '../config/load-manifests.js'
import { type ConfigProblem, type GateConfig, sayProblem } from '../config/model.js'
import { GateError } from '../core/error.js'
import { manifestDigest } from '../core/manifest/expand/expand.js'
import type { GateReport } from '../gate/context.js'
import type { Gate } from '../gate/gate.js'
import { identityOf } from './identity.js'
import type { JudgesSource } from './judges/load.js'
import { OBSERVE_ALL, observeServer, writeObservePolicies } from './judges/observe-all.js'
import { type GateOptions, openGate, type RunningGate } from './open-gate.js'

export type CreateOptions = Partial<
  Pick<GateOptions, 'clock' | 'seam' | 'recorder' | 'concluding' | 'acceptMissingHead'>
> & {
  readonly report?: (event: GateReport) => void
  /** Whether people can be asked where gate.yaml says nothing of it: by default they cannot. */
  readonly approvals?: boolean
  /** `nothing`: no manifests and no policies; every call is recorded, none is refused by them. */
  readonly judged?: 'by_files' | 'by_nothing'
}
export type ConfiguredGate = RunningGate & {
  /** Reads manifests and policies again; a set that does not load keeps the old one and says why. */
  reloadFiles(): Promise<readonly string[]>
}

/** A gate as programs around it get it: without the ports and secrets that its composition holds. */
export type OpenGate = Gate & Pick<ConfiguredGate, 'reload' | 'reloadFiles' | 'close'>

export function narrowed({
  parts,
  data,
  identity,
  mandates,
  heads,
  ...gate
}: ConfiguredGate): OpenGate {
  return gate
}

/** A running gate from a loaded gate.yaml. */
export async function createGate(
  config: GateConfig,
  options: CreateOptions = {},
): Promise<ConfiguredGate> {
  const { judged = 'by_files', report = warnFrom(config.log.level), approvals, ...more } = options
  const read = (): Source => (judged === 'by_files' ? fromFiles(config) : fromNothing(config))
  const source = read()
  if (!source.ok) {
    throw new GateError('config_invalid', source.problems.map(sayProblem).join('\n'))
  }
  const gate = await openGate({
    ...source.source,
    ...optionsOf(config, approvals),
    identity: identityOf(config, report, judged === 'by_nothing'),
    report,
    ...more,
  })
  return {
    ...gate,
    async reloadFiles() {
      const next = read()
      return next.ok ? gate.reload(next.source) : next.problems.map(sayProblem)
    },
  }
}

/** gate.yaml → what a gate is opened with, beside what judges and who may call. */
export const optionsOf = (config: GateConfig, approvals = false) =>
  ({
    dir: config.data_dir,
    headFile: config.journal.head_file,
    segmentBytes: config.journal.segment_bytes,
    masterKeyFile: config.evidence.master_key_file,
    idempotencyTtlSeconds: config.idempotency.ttl_seconds,
    approvals: config.approvals.enabled ?? approvals,
    openPerAgent: config.approvals.open_per_agent,
    openPerSession: config.approvals.open_per_session,
    intents: {
      pii: config.intent.pii,
      skewSeconds: config.intent.skew_seconds,
      missionMismatches: config.intent.mission_mismatches,
      auditAccessible: config.intent.audit_accessible,
    },
    sessionIdleSeconds: config.sessions.idle_seconds,
    agentKeys: config.limits.agent_keys,
    memory: {
      agentBodyBytes: config.limits.agent_body_bytes,
      heldBytes: config.limits.held_bytes,
    },
    denyDetail: config.deny_detail,
  }) satisfies Partial<GateOptions>

/** A program that takes no reports still has to learn that something is wrong; `log.level` may want errors alone. */
const warnFrom =
  (from: GateConfig['log']['level']) =>
  ({ level, event, detail = '' }: GateReport): void => {
    if (level === 'info' || (level === 'warn' && from === 'error')) return
    process.emitWarning(`${event}: ${detail}`, { type: 'CapsuleGate' })
  }

type Source =
  | { readonly ok: true; readonly source: JudgesSource }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

export function fromFiles(config: GateConfig): Source {
  const loaded = loadManifests(config.manifests)
  if (!loaded.ok) return loaded
  // An application that guards its own routes has no upstream at all.
  const hasUpstreams = Object.keys(config.upstreams).length > 0
  const lost = hasUpstreams ? unknownUpstreams(config, loaded.manifests) : []
  if (lost.length > 0) return { ok: false, problems: lost }
  const { operator, mode, policies: policyFolder } = config
  const exactPaths = new Set(
    Object.entries(config.upstreams).flatMap(([name, { paths }]) =>
      paths === 'exact' ? [name] : [],
    ),
  )
  const { manifests } = loaded
  return { ok: true, source: { operator, mode, manifests, policyFolder, exactPaths } }
}

function fromNothing({ operator, data_dir, mcp }: GateConfig): Source {
  const servers = Object.keys(mcp)
  const manifests = [OBSERVE_ALL, ...servers.map(observeServer)].map((manifest) => ({
    manifest,
    digest: manifestDigest(manifest, nodeCrypto),
  }))
  const policyFolder = writeObservePolicies(data_dir, servers)
  return { ok: true, source: { operator, mode: 'observe', manifests, policyFolder } }
}
