import { GateError } from '../core/error.js'
import type { GateReport } from '../gate/stage.js'
import { identityOf } from './identity.js'
import type { JudgesSource } from './judges.js'
import { loadManifests } from './load-manifests.js'
import { type GateConfig, sayProblem } from './model.js'
import { type GateOptions, openGate, type RunningGate } from './wire.js'

export type CreateOptions = Partial<
  Pick<GateOptions, 'clock' | 'seam' | 'journalSeams' | 'evidenceSeams'>
> & { readonly report?: (event: GateReport) => void }

/** A running gate from a loaded gate.yaml. `reloadFiles` reads manifests and policies again. */
export async function createGate(
  config: GateConfig,
  options: CreateOptions = {},
): Promise<RunningGate & { reloadFiles(): Promise<readonly string[]> }> {
  const source = judgesSource(config)
  if (!source.ok) throw new GateError('config_invalid', source.problems.join('\n'))
  const gate = await openGate({
    ...source.source,
    dir: config.data_dir,
    headFile: config.journal.head_file,
    segmentBytes: config.journal.segment_bytes,
    masterKeyFile: config.evidence.master_key_file,
    idempotencyTtlSeconds: config.idempotency.ttl_seconds,
    identity: identityOf(config),
    report: () => undefined,
    ...options,
  })
  return {
    ...gate,
    async reloadFiles() {
      const next = judgesSource(config)
      return next.ok ? gate.reload(next.source) : next.problems
    },
  }
}

function judgesSource(
  config: GateConfig,
): { ok: true; source: JudgesSource } | { ok: false; problems: readonly string[] } {
  const loaded = loadManifests(config.manifests)
  if (!loaded.ok) return { ok: false, problems: loaded.problems.map(sayProblem) }
  const names = Object.keys(config.upstreams)
  const lost = loaded.manifests.filter(({ manifest }) => !names.includes(manifest.upstream))
  // An application that guards its own routes has no upstream at all.
  if (names.length > 0 && lost.length > 0) {
    return {
      ok: false,
      problems: lost.map(
        ({ manifest }) =>
          `${manifest.id}: upstream "${manifest.upstream}" is not in gate.yaml; it has ${names.join(', ')}`,
      ),
    }
  }
  return {
    ok: true,
    source: {
      operator: config.operator,
      mode: config.mode,
      manifests: loaded.manifests,
      policyFolder: config.policies,
    },
  }
}
