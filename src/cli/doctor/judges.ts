import { loadJudges } from '../../app/judges/load.js'
import { loadManifests, unknownUpstreams } from '../../config/load-manifests.js'
import { type GateConfig, sayProblem } from '../../config/model.js'
import { attempt, type Check, fail, ok, warn } from './check.js'

/** Manifests and policies, loaded as a start would load them. */
export async function checkJudges(config: GateConfig): Promise<readonly Check[]> {
  const loaded = loadManifests(config.manifests)
  if (!loaded.ok) {
    const way = `capsule-gate manifest check ${config.manifests}`
    return loaded.problems.map((problem) => fail('manifests', sayProblem(problem), way))
  }
  const tools = loaded.manifests.flatMap(({ manifest }) => manifest.rules.map(({ tool }) => tool))
  const lost = unknownUpstreams(config, loaded.manifests)
  return [
    ok('manifests', `${loaded.manifests.length} with ${tools.length} tools`),
    ...lost.map((problem) => fail('manifests', problem.message, problem.way_out)),
    ...(await attempt('policy', `correct the files in ${config.policies}`, async () => {
      const { operator, mode, policies: policyFolder } = config
      const { manifests } = loaded
      const judges = await loadJudges({ operator, mode, manifests, policyFolder })
      if (!judges.ok) {
        const way = `correct it in ${config.policies}`
        return judges.problems.map((detail) => fail('policy', detail, way))
      }
      const { policyIds, digest } = judges.judges.policy
      return [
        policyIds.length === 0
          ? fail('policy', 'no policy is loaded', `write one in ${config.policies}`)
          : ok('policy', `${policyIds.length} policies, sha256 ${digest}`),
        ...judges.warnings.map(({ message, help }) => warn('policy', message, help)),
        ...(config.mode === 'observe'
          ? [warn('mode', 'observe: policies and constraints refuse nothing', 'mode: enforce')]
          : []),
      ]
    })),
  ]
}
