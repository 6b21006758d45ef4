import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/load.js'
import { loadManifests, unknownUpstreams } from '../../config/load-manifests.js'
import { manifestSchemas } from '../../core/evidence/manifest-schemas.js'
import { type ManifestWarning, manifestWarnings } from '../../core/manifest/expand/warnings.js'
import { isMcpMatch, type ToolRule } from '../../core/manifest/model.js'
import type { LoadedManifest } from '../../core/manifest/route/match.js'
import { EXIT, printError, printProblems, printResult, table, UsageError } from '../output/print.js'
import { migrate } from './migrate.js'

type Options = Partial<
  Record<'config' | 'dir', string> &
    Record<'expanded' | 'evidenceSchemas' | 'dryRun' | 'json', boolean>
>

export function register(program: Command): void {
  const command = program.command('manifest').description('show and check manifests')
  const located = (name: string, description: string): Command =>
    command
      .command(name)
      .description(description)
      .option('-c, --config <file>', 'gate.yaml that names the folder of manifests')
      .option('-d, --dir <folder>', 'the folder of manifests itself')
      .option('--json', 'for programs')
  located('show', 'list tools and constraints')
    .argument('[id]', 'only this manifest')
    .option('--expanded', 'the full form, which is what is digested')
    .option('--evidence-schemas', 'JSON Schemas of the evidence that its constraints leave')
    .action(show)
  located('check', 'load every manifest, run its tests, and tell what it leaves open').action(check)
  located('migrate', 'rewrite manifests of v1 as v2 that behaves alike')
    .option('--dry-run', 'print what would be written')
    .action((options: Options) => {
      const found = folderOf(options)
      if (found !== null) migrate(found.dir, options)
    })
}

/** The folder: named, or what the configuration says, or ./manifests. Null: problems were printed. */
function folderOf({ config, dir, json }: Options) {
  const loaded = config === undefined ? null : loadConfig(config, process.env)
  if (loaded?.ok === false) {
    printProblems(loaded.problems, json)
    return null
  }
  const gate = loaded?.config ?? null
  return { gate, dir: resolve(dir ?? gate?.manifests ?? 'manifests') }
}

function load(options: Options): readonly LoadedManifest[] | null {
  const found = folderOf(options)
  if (found === null) return null
  const { gate, dir } = found
  const loaded = loadManifests(dir)
  const lost = loaded.ok && gate !== null ? unknownUpstreams(gate, loaded.manifests) : []
  if (loaded.ok && lost.length === 0) return loaded.manifests
  printProblems(loaded.ok ? lost : loaded.problems, options.json)
  return null
}

function show(id: string | undefined, options: Options): void {
  const all = load(options)
  if (all === null) return
  const wanted = all.filter(({ manifest }) => id === undefined || manifest.id === id)
  if (wanted.length === 0) throw new UsageError(`there is no manifest ${id}`)
  if (options.expanded !== true && options.evidenceSchemas !== true) {
    printResult(options, wanted.map(summary), () => wanted.flatMap(describe))
    return
  }
  const forms = wanted.map(({ manifest, digest }) =>
    options.expanded === true ? manifest : manifestSchemas(manifest, digest),
  )
  // One is printed bare, so that it can be saved and loaded again.
  const form = forms.length === 1 ? forms[0] : forms
  printResult(options, form, () => JSON.stringify(form, null, 2))
}

const summary = ({ manifest, digest }: LoadedManifest) => {
  const { id, version, mode, upstream } = manifest
  const tools = manifest.rules.map(({ tool, match, effect, constraints }) => {
    const { irreversibility_class } = effect
    return { tool, match, irreversibility_class, constraints }
  })
  return { id, version, mode, digest, upstream, tools }
}

function describe({ manifest, digest }: LoadedManifest): string[] {
  const { id, version, mode, rules } = manifest
  const rows = rules.map(({ tool, match, effect, constraints }) => [
    `  ${tool}`,
    matchInWords(match),
    effect.irreversibility_class,
    constraints.map((name) => name.replace(`${id}.`, '')).join(', ') || '-',
  ])
  return [`${id} ${version} (${mode}) ${digest}`, ...table(rows)]
}

function check(options: Options): void {
  const all = load(options)
  if (all === null) return
  const warnings = all.flatMap(({ manifest }) =>
    manifestWarnings(manifest).map((warning) => ({ manifest: manifest.id, ...warning })),
  )
  // A test that shows a call which cannot be made is wrong; the rest is for the author to weigh.
  const isWrong = ({ code }: ManifestWarning): boolean => code === 'test_not_read'
  const ok = !warnings.some(isWrong)
  if (!ok) process.exitCode = EXIT.failed
  printResult(options, { ok, manifests: all.map(summary), warnings }, () =>
    all.map(({ manifest: { id, rules, tests }, digest }) => {
      return `ok  ${id}  ${rules.length} tools, ${tests.length} tests passed  ${digest}`
    }),
  )
  if (options.json === true) return
  for (const warning of warnings) {
    const { manifest, message, way_out } = warning
    printError(`${isWrong(warning) ? 'wrong' : 'warning'}  ${manifest}: ${message}; ${way_out}`)
  }
}

function matchInWords(match: ToolRule['match']): string {
  if (match === null) return '(by name)'
  if (!isMcpMatch(match)) return `${match.method} ${match.path}`
  const { server, ...of } = match
  return [server, ...Object.entries(of).flat()].join(' ')
}
