import { join } from 'node:path'
import { loadJudges } from '../../app/judges/load.js'
import { loadConfig } from '../../config/load.js'
import { loadManifests } from '../../config/load-manifests.js'
import type { Mode } from '../../core/capsule/model.js'
import { problemsError } from '../output/print.js'

const STANDALONE = { operator: 'draft', mode: 'enforce' } as const

/** The same way `serve` loads it: what does not start is not handed over as finished. */
export async function mustLoad(dir: string): Promise<void> {
  const loaded = loadConfig(join(dir, 'gate.yaml'), {})
  if (!loaded.ok) throw problemsError(loaded.problems)
  const { operator, mode, policies } = loaded.config
  await mustJudge(join(dir, 'manifests'), policies, { operator, mode })
}

/** Manifests and policies alone. */
export async function mustJudge(
  manifestFolder: string,
  policyFolder: string,
  { operator, mode }: { readonly operator: string; readonly mode: Mode } = STANDALONE,
): Promise<void> {
  const read = loadManifests(manifestFolder)
  if (!read.ok) throw problemsError(read.problems)
  const judges = await loadJudges({ operator, mode, manifests: read.manifests, policyFolder })
  if (!judges.ok) throw new Error(judges.problems.join('\n'))
}
