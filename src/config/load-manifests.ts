import { join } from 'node:path'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { readdirSync } from '../adapters/disk/files.js'
import { runTests } from '../core/manifest/constraint/run-tests.js'
import { expand, manifestDigest } from '../core/manifest/expand/expand.js'
import type { Problem } from '../core/manifest/expand/tree.js'
import { isMcpMatch } from '../core/manifest/model.js'
import { compileRouter, type LoadedManifest, type Router } from '../core/manifest/route/match.js'
import type { ConfigProblem, GateConfig } from './model.js'
import { readText } from './read-text.js'
import { readYaml } from './yaml.js'

export type LoadedManifests =
  | {
      readonly ok: true
      readonly manifests: readonly LoadedManifest[]
      readonly router: Router
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

export const isManifestFile = (name: string): boolean => /\.(?:ya?ml|json)$/.test(name)

/** All of a folder's manifests or none: expanded, their own tests run, and checked against each other. */
export function loadManifests(dir: string): LoadedManifests {
  const wrong = (file: string, message: string, way_out: string): ConfigProblem => ({
    file,
    line: null,
    column: null,
    message,
    way_out,
  })
  let names: string[]
  try {
    names = readdirSync(dir).filter(isManifestFile).sort()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable'
    const message = `the folder of manifests cannot be read (${code})`
    return { ok: false, problems: [wrong(dir, message, 'check manifests in gate.yaml')] }
  }
  if (names.length === 0) {
    const wayOut = 'write one: without a manifest every call is refused'
    return { ok: false, problems: [wrong(dir, 'there is no manifest', wayOut)] }
  }
  const manifests: LoadedManifest[] = []
  const problems: ConfigProblem[] = []
  for (const name of names) {
    const loaded = loadManifest(join(dir, name))
    if (loaded.ok) manifests.push(loaded)
    else problems.push(...loaded.problems.map((found) => ({ ...placed(found), file: name })))
  }
  if (problems.length > 0) return { ok: false, problems }
  const compiled = compileRouter(manifests)
  if (!compiled.ok) {
    const between = compiled.problems.map(({ message, way_out }) => wrong(dir, message, way_out))
    return { ok: false, problems: between }
  }
  return { ok: true, manifests, router: compiled.router }
}

/** A manifest for an upstream that gate.yaml does not have would never match a call; tools of MCP servers need none. */
export function unknownUpstreams(
  { upstreams }: Pick<GateConfig, 'upstreams'>,
  manifests: readonly LoadedManifest[],
): readonly ConfigProblem[] {
  return manifests
    .filter(({ manifest }) => !manifest.rules.every(({ match }) => isMcpMatch(match)))
    .filter(({ manifest }) => !Object.hasOwn(upstreams, manifest.upstream))
    .map(({ manifest }) => ({
      file: manifest.id,
      line: null,
      column: null,
      message: `there is no upstream ${manifest.upstream}`,
      way_out: 'name one of upstreams in gate.yaml, or add it there',
    }))
}

const placed = ({ line, column, message, way_out }: Problem): Omit<ConfigProblem, 'file'> => ({
  line: line ?? null,
  column: column ?? null,
  message,
  way_out,
})

/** One file; a failing test of its own refuses it, naming number, expected and got. */
export function loadManifest(
  path: string,
): ({ ok: true } & LoadedManifest) | { ok: false; problems: readonly Problem[] } {
  const file = readText(path)
  if (!file.ok) {
    const { message, way_out } = file
    return { ok: false, problems: [{ path: '', message, way_out }] }
  }
  const read = readYaml(file.text)
  if (!read.ok) return read
  const expanded = expand(read.tree)
  if (!expanded.ok) return expanded
  const { manifest } = expanded
  const failures = runTests(manifest, nodeCrypto)
  if (failures.length === 0) {
    return { ok: true, manifest, digest: manifestDigest(manifest, nodeCrypto) }
  }
  return {
    ok: false,
    problems: failures.map(({ number, tool, expected, got }) => {
      const pointer = `/tests/${number - 1}`
      return {
        path: pointer,
        ...(read.tree.at(pointer) ?? {}),
        message: `test ${number} of ${tool}: expected ${expected}, got ${got}`,
        way_out: 'correct the test or the constraint',
      }
    }),
  }
}
