import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/load.js'
import { loadManifests, unknownUpstreams } from '../../config/load-manifests.js'
import type { ConfigProblem } from '../../config/model.js'
import { manifestSchemas } from '../../core/evidence/manifest-schemas.js'
import { type ManifestWarning, manifestWarnings } from '../../core/manifest/expand/warnings.js'
import type { ToolRule } from '../../core/manifest/model.js'
import type { LoadedManifest } from '../../core/manifest/route/match.js'
import { EXIT, plain, print, printJson, table, UsageError } from '../output.js'
import { reportProblems } from '../problems.js'
import { migrate } from './migrate.js'

type Options = {
  config?: string
  dir?: string
  expanded?: boolean
  evidenceSchemas?: boolean
  dryRun?: boolean
  json?: boolean
}

export function register(program: Command): void {
  const command = program.command('manifest').description('show and check manifests')
  const located = (name: string, says: string): Command =>
    command
      .command(name)
      .description(says)
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
      const dir = folderOf(options)
      if (dir !== null) migrate(dir, options)
    })
}

/** The folder: named, or what the configuration says, or ./manifests. */
function load({ config, dir, json }: Options): readonly LoadedManifest[] | null {
  const fail = (problems: readonly ConfigProblem[]): null => {
    reportProblems(problems, json === true)
    return null
  }
  const gate = config === undefined ? null : loadConfig(config, process.env)
  if (gate?.ok === false) return fail(gate.problems)
  const loaded = loadManifests(resolve(dir ?? gate?.config.manifests ?? 'manifests'))
  if (!loaded.ok) return fail(loaded.problems)
  const homeless = gate === null ? [] : unknownUpstreams(gate.config, loaded.manifests)
  return homeless.length > 0 ? fail(homeless) : loaded.manifests
}

/** The same, for a command that reads the files itself. */
function folderOf({ config, dir, json }: Options): string | null {
  const gate = config === undefined ? null : loadConfig(config, process.env)
  if (gate?.ok === false) {
    reportProblems(gate.problems, json === true)
    return null
  }
  return resolve(dir ?? gate?.config.manifests ?? 'manifests')
}

function show(id: string | undefined, options: Options): void {
  const all = load(options)
  if (all === null) return
  const wanted = all.filter(({ manifest }) => id === undefined || manifest.id === id)
  if (wanted.length === 0) throw new UsageError(`there is no manifest ${id}`)
  if (options.expanded === true) {
    // One manifest is printed bare, so that it can be saved and loaded again.
    const forms = wanted.map(({ manifest }) => manifest)
    printForms(forms, options)
  } else if (options.evidenceSchemas === true) {
    printForms(
      wanted.map(({ manifest, digest }) => manifestSchemas(manifest, digest)),
      options,
    )
  } else if (options.json === true) printJson(wanted.map(summary))
  else for (const loaded of wanted) describe(loaded)
}

const printForms = (forms: readonly unknown[], { json }: Options): void =>
  print(JSON.stringify(forms.length === 1 ? forms[0] : forms, null, json === true ? 0 : 2))

const where = ({ match }: ToolRule): string =>
  match === null ? '(by name)' : `${match.method} ${match.path}`

const summary = ({ manifest, digest }: LoadedManifest) => ({
  id: manifest.id,
  version: manifest.version,
  mode: manifest.mode,
  digest,
  upstream: manifest.upstream,
  tools: manifest.rules.map((rule) => ({
    tool: rule.tool,
    match: rule.match,
    irreversibility_class: rule.effect.irreversibility_class,
    constraints: rule.constraints,
  })),
})

function describe({ manifest, digest }: LoadedManifest): void {
  print(`${manifest.id} ${manifest.version} (${manifest.mode}) ${digest}`)
  const rows = manifest.rules.map((rule) => [
    `  ${rule.tool}`,
    where(rule),
    rule.effect.irreversibility_class,
    rule.constraints.map((name) => name.replace(`${manifest.id}.`, '')).join(', ') || '-',
  ])
  for (const line of table(rows)) print(line)
}

function check(options: Options): void {
  const all = load(options)
  if (all === null) return
  const warnings = all.flatMap(({ manifest }) =>
    manifestWarnings(manifest).map((warning) => ({ manifest: manifest.id, ...warning })),
  )
  // A test that shows a call which cannot be made is wrong; the rest is for the author to weigh.
  const wrong = warnings.some(({ code }) => code === 'test_not_read')
  if (wrong) process.exitCode = EXIT.failed
  if (options.json === true) {
    printJson({ ok: !wrong, manifests: all.map(summary), warnings })
    return
  }
  for (const { manifest, digest } of all) {
    const { rules, tests } = manifest
    print(`ok  ${manifest.id}  ${rules.length} tools, ${tests.length} tests passed  ${digest}`)
  }
  for (const warning of warnings) process.stderr.write(`${plain(sayWarning(warning))}\n`)
}

const sayWarning = ({
  manifest,
  code,
  message,
  way_out,
}: ManifestWarning & { readonly manifest: string }): string =>
  `${code === 'test_not_read' ? 'wrong' : 'warning'}  ${manifest}: ${message}; ${way_out}`
