import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../config/load.js'
import { loadManifests, unknownUpstreams } from '../config/load-manifests.js'
import type { ConfigProblem } from '../config/model.js'
import type { LoadedManifest } from '../core/manifest/match.js'
import type { ToolRule } from '../core/manifest/model.js'
import { print, printJson, table, UsageError } from './output.js'
import { reportProblems } from './problems.js'

type Options = { config?: string; dir?: string; expanded?: boolean; json?: boolean }

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
    .action(show)
  located('check', 'load every manifest and run its tests').action(check)
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

function show(id: string | undefined, options: Options): void {
  const all = load(options)
  if (all === null) return
  const wanted = all.filter(({ manifest }) => id === undefined || manifest.id === id)
  if (wanted.length === 0) throw new UsageError(`there is no manifest ${id}`)
  if (options.expanded === true) {
    // One manifest is printed bare, so that it can be saved and loaded again.
    const forms = wanted.map(({ manifest }) => manifest)
    print(JSON.stringify(forms.length === 1 ? forms[0] : forms, null, options.json ? 0 : 2))
  } else if (options.json === true) printJson(wanted.map(summary))
  else for (const loaded of wanted) describe(loaded)
}

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
  if (options.json === true) {
    printJson({ ok: true, manifests: all.map(summary) })
    return
  }
  for (const { manifest, digest } of all) {
    const { rules, tests } = manifest
    print(`ok  ${manifest.id}  ${rules.length} tools, ${tests.length} tests passed  ${digest}`)
  }
}
