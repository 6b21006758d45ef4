import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { parse } from 'yaml'
import { mkdtempSync, readFileSync, rmSync } from '../../adapters/disk/files.js'
import { folderOf } from '../access/data-folder.js'
import { messageOf, plain, print, printError, UsageError } from '../output/print.js'
import { type Written, writeManifest } from './draft.js'
import { writeProject } from './files.js'
import { mustLoad } from './must-load.js'
import { agentName } from './names.js'
import { fromOpenApi } from './openapi/openapi.js'
import type { Json } from './schema/schema.js'
import { STARTER } from './starter.js'
import { fromTraffic } from './traffic/from-traffic.js'

type Options = Partial<Record<'upstream' | 'openapi' | 'data', string>> & {
  agent: string
  fromTraffic?: boolean
}
type Source = { readonly written: Written; readonly upstream: string | null }
const MANIFEST_ID = 'com.example.api'
const DEFAULT_UPSTREAM = 'http://127.0.0.1:3000'
const MAX_DOCUMENT = 16 * 1024 * 1024

export function register(program: Command): void {
  program
    .command('init')
    .description('write gate.yaml, a manifest with tests and policies for an API of your own')
    .argument('[directory]', 'a folder for them', 'gate')
    .option('--upstream <url>', `the API: scheme, host and port (default: ${DEFAULT_UPSTREAM})`)
    .option('--agent <name>', 'who will call it', 'my-agent')
    .option('--openapi <file>', 'tools from an OpenAPI 3.x document, JSON or YAML')
    .option('--from-traffic', 'tools from the calls that serve --upstream URL --observe recorded')
    .option(
      '--data <directory>',
      'with --from-traffic: data folder of that gate (default: data_dir of gate.yaml here, or data)',
    )
    .action(init)
}

async function init(directory: string, options: Options): Promise<void> {
  const agent = agentName(options.agent)
  const { written, upstream: described } = await sourceOf(options)
  const upstream = originOf(options.upstream ?? described ?? DEFAULT_UPSTREAM)
  const { lost, tools } = written
  if (tools.length === 0) {
    for (const line of lost) printError(line)
    throw new UsageError('no tool is left to govern; nothing was written')
  }
  const dir = resolve(directory)
  const project = { upstream, agent, manifest: written.text, tools }
  const trial = mkdtempSync(join(tmpdir(), 'capsule-gate-init-'))
  try {
    writeProject(trial, project)
    await mustLoad(trial)
  } finally {
    rmSync(trial, { recursive: true, force: true })
  }
  const here = relative('.', dir) || '.'
  for (const name of writeProject(dir, project)) print(`  ${join(here, name)}`)
  if (options.openapi !== undefined || options.fromTraffic === true) {
    print(`\n  ${tools.length} tools; not carried over: ${lost.length === 0 ? 'nothing' : ''}`)
    for (const line of lost) print(`    ${plain(line)}`)
  }
  if (options.fromTraffic === true) {
    print(
      '\n  the tests in manifests/api.yaml hold values from recorded calls: read before you share it',
    )
  }
  print('\n  next')
  print(`    cd ${here}`)
  print(`    npx capsule-gate tokens create --name ${agent}`)
  print('    npx capsule-gate serve --config gate.yaml')
}

async function sourceOf({ openapi, data, upstream, ...options }: Options): Promise<Source> {
  if (options.fromTraffic !== true) {
    if (data !== undefined) throw new UsageError('--data goes with --from-traffic')
    if (openapi !== undefined) return fromDocument(openapi)
    return { written: writeManifest(MANIFEST_ID, STARTER), upstream: null }
  }
  if (openapi !== undefined) throw new UsageError('--openapi and --from-traffic exclude each other')
  if (upstream === undefined) {
    throw new UsageError('name the API that was observed: --from-traffic --upstream URL')
  }
  const folder = folderOf(data === undefined ? {} : { data })
  return { upstream: originOf(upstream), written: await fromTraffic(folder, MANIFEST_ID) }
}

function fromDocument(path: string): Source {
  let document: Json
  try {
    const text = readFileSync(path, 'utf8')
    if (text.length > MAX_DOCUMENT) throw new Error('over 16 MiB')
    document = parse(text, { maxAliasCount: 100, logLevel: 'error' }) as Json
  } catch (error) {
    throw new UsageError(`${path}: ${messageOf(error)}`)
  }
  const read = fromOpenApi(document)
  if ('error' in read) throw new UsageError(`${path}: ${read.error}`)
  const { text, tools, lost } = writeManifest(MANIFEST_ID, read.tools)
  return { written: { text, tools, lost: [...read.lost, ...lost] }, upstream: read.upstream }
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href) {
    throw new UsageError(`${text} is not scheme, host and port, like https://api.example.com`)
  }
  return url.origin
}
