import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { mkdtempSync, rmSync } from '../../adapters/disk/files.js'
import { SERVER_NAME } from '../../core/manifest/expand/match.js'
import { readGiven } from '../access/given-file.js'
import { type ToolDraft, writeManifest } from '../init/draft.js'
import { writeFiles } from '../init/files.js'
import { mustJudge } from '../init/must-load.js'
import { agentName } from '../init/names.js'
import { draftPolicies } from '../init/policies.js'
import { plain, printError, printResult, UsageError } from '../output/print.js'
import { MAX_LIST_BYTES, readSaved, type ToolDefinition } from './definitions.js'
import { draftTools } from './draft.js'
import { listTools } from './list-tools.js'

type Options = {
  readonly name: string
  readonly from?: string
  readonly agent: string
  readonly pin?: boolean
  readonly force?: boolean
  readonly json?: boolean
}
type Listed = { readonly tools: readonly ToolDefinition[]; readonly lost: readonly string[] }

export function registerImport(tools: Command): void {
  tools
    .command('import')
    .description("write a manifest with tests and policies from an MCP server's definitions")
    .usage('--name <server> [options] [folder] (--from <file> | -- command [args...])')
    .argument('[folder]', 'where manifests/ and policies/ are, or will be', '.')
    .argument(
      '[command...]',
      'after --: the server, which is started, asked for its tools and stopped',
    )
    .requiredOption('--name <server>', 'what the server is called: its tools are named server.tool')
    .option('--from <file>', 'a saved result of tools/list instead, - for stdin')
    .option('--agent <name>', 'who will call its tools', 'my-agent')
    .option('--pin', 'hold each tool to the definition that it has now')
    .option('--force', 'overwrite files that are there')
    .option('--json', 'for programs')
    .action((_folder: string, _command: string[], options: Options, command: Command) =>
      importTools(split(command.args, process.argv), options),
    )
}

type Given = { readonly folder: string; readonly command: readonly string[] }

/** Without the dashes nothing tells a folder from a command. */
function split(operands: readonly string[], argv: readonly string[]): Given {
  const dashes = argv.indexOf('--')
  const command = dashes === -1 ? [] : argv.slice(dashes + 1)
  const [folder = '.', ...more] = operands.slice(0, operands.length - command.length)
  const [extra] = more
  if (extra !== undefined) {
    throw new UsageError(`${extra} is one folder too many; the server's command goes after --`)
  }
  return { folder, command }
}

async function importTools({ folder, command }: Given, options: Options): Promise<void> {
  const { name: server, json } = options
  const agent = agentName(options.agent)
  if (!SERVER_NAME.test(server) || !/^[a-z]/.test(server)) {
    throw new UsageError(
      `${server} is no name for a server: lower-case letters, digits, _ and -, a letter first`,
    )
  }
  const listed = await definitionsOf(options.from, command)
  const drafted = draftTools(listed.tools, { server, pin: options.pin === true })
  const written = writeManifest(`com.example.${server.slice(0, 63)}`, drafted.tools, {
    server,
    notes: [
      `Drafted from what the server ${server} says of its own tools: read it before you use it.`,
    ],
  })
  const lossy = [...listed.lost, ...drafted.lost, ...written.lost]
  if (written.tools.length === 0) {
    for (const line of lossy) printError(line)
    throw new UsageError('no tool is left to govern; nothing was written')
  }
  const contents = {
    [`manifests/${server}.yaml`]: written.text,
    [`policies/${server}.cedar`]: draftPolicies(written.tools, agent, [
      `Drafted from what the server ${server} says of its own tools: read it before you use it.`,
    ]),
  }
  await mustHold(contents)
  const dir = resolve(folder)
  const otherwise = '--force overwrites'
  const names = writeFiles(dir, contents, { force: options.force === true, otherwise })
  const files = names.map((name) => join(relative('.', dir), name))
  printResult({ json: json === true }, summary(server, files, written.tools, lossy), () => [
    ...files.map((file) => `  ${file}`),
    '',
    `  ${count(written.tools.length)}; not carried over:${lossy.length === 0 ? ' nothing' : ''}`,
    ...lossy.map((line) => `    ${plain(line)}`),
    '',
    '  next: read both files, then',
    `    npx capsule-gate manifest check --dir ${join(relative('.', dir), 'manifests')}`,
  ])
}

const count = (tools: number): string => `${tools} ${tools === 1 ? 'tool' : 'tools'}`

const summary = (
  server: string,
  files: readonly string[],
  tools: readonly ToolDraft[],
  lossy: readonly string[],
) => ({
  server,
  files,
  tools: tools.map(({ name, match, irreversibility, definition }) => ({
    tool: name,
    match,
    irreversibility,
    ...(definition === undefined ? {} : { definition }),
  })),
  lossy,
})

async function definitionsOf(
  from: string | undefined,
  [command, ...args]: readonly string[],
): Promise<Listed> {
  if ((from === undefined) === (command === undefined)) {
    throw new UsageError(
      "name one source: --from a saved tools/list, or the server's command after --",
    )
  }
  if (command !== undefined) return { tools: await listTools({ command, args }), lost: [] }
  const page = readSaved(from === '-' ? await standardInput() : readGiven(from ?? ''))
  if ('error' in page) throw new UsageError(`${from}: ${page.error}`)
  const lost =
    page.next === null ? [] : ['the list goes on (nextCursor): tools after it are missing']
  return { tools: page.tools, lost }
}

async function standardInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of process.stdin) {
    size += chunk.length
    if (size > MAX_LIST_BYTES) throw new UsageError('more than 16 MiB on stdin')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** What does not load is not handed over as finished. */
async function mustHold(contents: Readonly<Record<string, string>>): Promise<void> {
  const trial = mkdtempSync(join(tmpdir(), 'capsule-gate-import-'))
  try {
    writeFiles(trial, contents)
    await mustJudge(join(trial, 'manifests'), join(trial, 'policies'))
  } finally {
    rmSync(trial, { recursive: true, force: true })
  }
}
