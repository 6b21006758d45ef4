import { nodeCrypto } from '../../adapters/crypto-node.js'
import { manifestDigest } from '../../core/manifest/expand/expand.js'
import { asV1, manifestWarnings } from '../../core/manifest/expand/warnings.js'
import type { LoadedManifest } from '../../core/manifest/route/match.js'
import { CANARY } from '../../gate/operate/canary.js'
import { OBSERVE_ALL } from './observe-all.js'

/** What an operator should know of the manifests before the first call is refused or let through. */
export function* openings(
  manifests: readonly LoadedManifest[],
  recorded: readonly string[],
): Generator<string> {
  for (const { manifest, digest } of manifests) {
    if (manifest.id === CANARY || manifest.id.startsWith(OBSERVE_ALL.id)) continue
    for (const { code, message, way_out } of manifestWarnings(manifest)) {
      if (code === 'v1_open') yield `${manifest.id}: ${message}; ${way_out}`
    }
    if (manifest.manifest === 'gate.constraints/v1' || recorded.includes(digest)) continue
    // The record knows these very tools from before they were closed.
    if (!recorded.includes(manifestDigest(asV1(manifest), nodeCrypto))) continue
    for (const { tool } of manifest.rules) {
      yield `${manifest.id}: ${tool} now refuses query names, members and bodies that it does not read; capsule-gate manifest migrate keeps what was let through`
    }
  }
}
