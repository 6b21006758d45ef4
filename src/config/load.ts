import { basename, dirname, resolve } from 'node:path'
import type { z } from 'zod'
import { toPlain } from '../core/json/value.js'
import type { SourceTree } from '../core/manifest/expand/tree.js'
import { escapePointer } from '../core/manifest/route/pointer.js'
import { completeConfig, type DataPaths, dataPathsOf } from './complete.js'
import { type ConfigProblem, type LoadedConfig, problem } from './model.js'
import { applyOverrides } from './overrides.js'
import { readText } from './read-text.js'
import { type GateFile, gateFile, gateJsonSchema } from './schema.js'
import { readYaml } from './yaml.js'

type Env = Readonly<Record<string, string | undefined>>

/** Environment over file over defaults. Null: no file, defaults from the working directory. */
export function loadConfig(path: string | null, env: Env): LoadedConfig {
  const read = readGateFile(path, env)
  if (!read.ok) return read
  const { file, base, label, tree } = read
  return completeConfig(read.given, { file, base, env, label, tree })
}

/** Only where a gate keeps its data: for commands that run without the gate's secrets around them. */
export function loadDataPaths(
  path: string,
  env: Env,
):
  | { readonly ok: true; readonly places: DataPaths }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] } {
  const read = readGateFile(path, env)
  return read.ok ? { ok: true, places: dataPathsOf(read.given, read.base) } : read
}

type ReadGateFile =
  | {
      readonly ok: true
      readonly given: GateFile
      readonly file: string | null
      readonly base: string
      readonly label: string
      readonly tree: SourceTree
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

function readGateFile(path: string | null, env: Env): ReadGateFile {
  const file = path === null ? null : resolve(path)
  const label = file === null ? 'defaults' : basename(file)
  const read = file === null ? EMPTY : readFile(file, label)
  if (!read.ok) return read
  const overridden = applyOverrides(read.tree.value ?? new Map(), env)
  if (overridden.problems.length > 0) return { ok: false, problems: overridden.problems }
  const parsed = gateFile.safeParse(toPlain(overridden.value))
  if (!parsed.success) {
    const problems = parsed.error.issues.flatMap((issue) =>
      problemsOf(issue, read.tree, overridden.from, label),
    )
    return { ok: false, problems }
  }
  const base = file === null ? process.cwd() : dirname(file)
  return { ok: true, given: parsed.data, file, base, label, tree: read.tree }
}

const EMPTY = { ok: true, tree: { value: new Map(), at: () => null } as SourceTree } as const

function readFile(
  file: string,
  label: string,
): { ok: true; tree: SourceTree } | Extract<LoadedConfig, { ok: false }> {
  const found = readText(file)
  if (!found.ok) return { ok: false, problems: [problem(file, null, found.message, found.way_out)] }
  const read = readYaml(found.text)
  if (read.ok) return read
  return {
    ok: false,
    problems: read.problems.map(({ line, column, message, way_out }) => ({
      file: label,
      line: line ?? null,
      column: column ?? null,
      message,
      way_out,
    })),
  }
}

type Issue = z.core.$ZodIssue

function problemsOf(
  issue: Issue,
  tree: SourceTree,
  overrides: ReadonlyMap<string, string>,
  label: string,
): readonly ConfigProblem[] {
  const at = (keys: readonly PropertyKey[], message: string, wayOut: string): ConfigProblem => {
    const pointer = keys.map((key) => `/${escapePointer(String(key))}`).join('')
    // A misspelt variable brings whole sections that no file has.
    const variable = [...overrides].find(([set]) => `${set}/`.startsWith(`${pointer}/`))?.[1]
    if (variable !== undefined && pointer !== '')
      return problem(`env ${variable}`, null, message, wayOut)
    const named = keys.length === 0 ? '' : `${keys.map(String).join('.')}: `
    return problem(label, tree.at(pointer), `${named}${message}`, wayOut)
  }
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) =>
      SECRET.test(key)
        ? at([...issue.path, key], 'a secret is never written here', 'name it by env or file')
        : at([...issue.path, key], `unknown key "${key}"`, knownAt(issue.path)),
    )
  }
  if (issue.code === 'invalid_key') {
    return [at(issue.path, issue.issues[0]?.message ?? 'not a name', 'rename it')]
  }
  return [at(issue.path, issue.message, 'correct the value')]
}

const SECRET = /^(?:value|token|bearer|password|passphrase|secret|api_?key|key|client_secret)$/i

/** The published schema knows which keys there are. */
function knownAt(path: readonly PropertyKey[]): string {
  type Shape = { properties?: Record<string, Shape>; additionalProperties?: Shape; items?: Shape }
  let shape: Shape | undefined = gateJsonSchema() as Shape
  for (const key of path) {
    shape =
      typeof key === 'number'
        ? shape?.items
        : (shape?.properties?.[String(key)] ?? shape?.additionalProperties)
  }
  return `known here: ${Object.keys(shape?.properties ?? {}).join(', ')}`
}
