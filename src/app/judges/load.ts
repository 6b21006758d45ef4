import { createCedarEngine } from '../../adapters/cedar/evaluate/engine.js'
import { warmUp } from '../../adapters/cedar/evaluate/warm-up.js'
import type { Finding } from '../../adapters/cedar/findings.js'
import { loadPolicies } from '../../adapters/cedar/load/load.js'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { utf8 } from '../../core/bytes/text.js'
import type { Mode } from '../../core/capsule/model.js'
import { GATE_SCHEMAS } from '../../core/evidence/gate-schemas.js'
import { manifestSchemas } from '../../core/evidence/manifest-schemas.js'
import { canonicalOf, jsonDigest } from '../../core/json/build.js'
import { manifestDigest } from '../../core/manifest/expand/expand.js'
import { compileRouter, type LoadedManifest } from '../../core/manifest/route/match.js'
import type { Judges } from '../../gate/gate.js'
import { CANARY_MANIFEST } from '../../gate/operate/canary.js'
import type { Evidence } from '../../ports/evidence.js'
import type { PolicyEngine } from '../../ports/policy.js'

/** What judges calls, from manifests and a folder of policies; or why not, with the old ones untouched. */
export type JudgesSource = {
  readonly operator: string
  readonly mode: Mode
  readonly manifests: readonly LoadedManifest[]
  readonly policyFolder: string
  /** Upstreams that tell every spelling of a path apart. */
  readonly exactPaths?: ReadonlySet<string>
}
export type LoadedJudges =
  | {
      readonly ok: true
      readonly judges: Judges
      readonly warnings: readonly Finding[]
      /** Policies and constraints that want a person to decide. */
      readonly asking: readonly string[]
      /** Bytes by digest, for the public store: with them anyone re-derives a verdict and checks its evidence. */
      readonly documents: readonly { readonly digest: string; readonly bytes: Uint8Array }[]
    }
  | { readonly ok: false; readonly problems: readonly string[] }

const CANARY_LOADED: LoadedManifest = {
  manifest: CANARY_MANIFEST,
  digest: manifestDigest(CANARY_MANIFEST, nodeCrypto),
}

export async function loadJudges(
  source: JudgesSource,
  replaces?: PolicyEngine,
): Promise<LoadedJudges> {
  const manifests = [...source.manifests, CANARY_LOADED]
  const compiled = compileRouter(manifests, source.exactPaths)
  if (!compiled.ok) {
    const problems = compiled.problems.map(({ message, way_out }) => `${message}; ${way_out}`)
    return { ok: false, problems }
  }
  const rules = manifests.flatMap(({ manifest }) => manifest.rules)
  const loaded = await loadPolicies(source.policyFolder, rules)
  if (!loaded.ok) return { ok: false, problems: loaded.findings.map(sayFinding) }
  const { set } = loaded
  const policy = createCedarEngine({ set, rules, ...(replaces === undefined ? {} : { replaces }) })
  const cold = warmUp(policy)
  if (cold.length > 0) return { ok: false, problems: cold }
  return {
    ok: true,
    judges: {
      operator: source.operator,
      mode: source.mode,
      manifests,
      router: compiled.router,
      policy,
    },
    warnings: loaded.warnings,
    asking: [
      ...set.policies.filter(({ hem }) => hem).map(({ id }) => `policy ${id}`),
      ...manifests.flatMap(({ manifest }) =>
        Object.entries(manifest.constraints)
          .filter(([, { on_fail, on_error }]) => on_fail === 'hitl' || on_error === 'hitl')
          .map(([id]) => `constraint ${id}`),
      ),
    ],
    documents: [
      { digest: set.digest, bytes: utf8(set.document) },
      ...manifests.map(({ manifest, digest }) => ({
        digest,
        bytes: utf8(canonicalOf(manifest)),
      })),
      ...[
        GATE_SCHEMAS,
        ...manifests.map(({ manifest, digest }) => manifestSchemas(manifest, digest)),
      ]
        .filter((schemas) => schemas !== null)
        .map((schemas) => ({
          digest: jsonDigest(schemas, nodeCrypto),
          bytes: utf8(canonicalOf(schemas)),
        })),
    ],
  }
}

export async function publish(
  documents: Extract<LoadedJudges, { ok: true }>['documents'],
  evidence: Evidence,
): Promise<void> {
  for (const { digest, bytes } of documents) await evidence.putPublic(digest, bytes)
}

export function sayFinding(finding: Finding): string {
  const place = finding.file === null ? '' : `${finding.file}:${finding.line ?? 1}: `
  return `${place}${finding.code}: ${finding.message}; ${finding.help}`
}
