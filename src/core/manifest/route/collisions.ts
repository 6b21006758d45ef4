import { httpMatchOf } from '../model.js'
import type { LoadedManifest, Route } from './match.js'
import { overlapOnServer } from './match-server.js'
import { templatesOverlap } from './template.js'

export type RouterProblem = { readonly message: string; readonly way_out: string }

/** Between manifests there is no order, so no path and no tool may have two answers. */
export function* collisions(
  manifests: readonly LoadedManifest[],
  routes: readonly Route[],
): Generator<RouterProblem> {
  const ids = new Set<string>()
  for (const { manifest } of manifests) {
    if (ids.has(manifest.id)) {
      yield { message: `two manifests have the id ${manifest.id}`, way_out: 'rename one of them' }
    }
    ids.add(manifest.id)
  }
  for (const [index, later] of routes.entries()) {
    for (const earlier of routes.slice(0, index)) {
      if (earlier.manifest === later.manifest) continue
      if (earlier.rule.tool === later.rule.tool) {
        yield {
          message: `${earlier.manifest.id} and ${later.manifest.id} both name the tool ${later.rule.tool}`,
          way_out: 'give the tools different names: policies and calls refer to them by name',
        }
      }
      if (overlapOnServer(earlier.rule.match, later.rule.match)) {
        yield {
          message: `${earlier.rule.tool} (${earlier.manifest.id}) and ${later.rule.tool} (${later.manifest.id}) match the same calls of a server`,
          way_out: 'put both in one manifest, the narrower first: there the first match wins',
        }
      }
      const [a, b] = [httpMatchOf(earlier.rule), httpMatchOf(later.rule)]
      if (a === null || b === null || a.method !== b.method) continue
      if (earlier.template === null || later.template === null) continue
      if (templatesOverlap(earlier.template, later.template)) {
        yield {
          message: `${a.method} ${a.path} (${earlier.manifest.id}) and ${b.method} ${b.path} (${later.manifest.id}) match the same targets`,
          way_out: 'put both in one manifest, the narrower first: there the first match wins',
        }
      }
    }
  }
}
