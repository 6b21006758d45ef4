#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { readFileSync } from '../adapters/disk/files.js'
import { GateError } from '../core/error.js'
import { EXIT, messageOf, plain, UsageError } from './output/print.js'

type Registers = { register(program: Command): void }

/**
 * One file per command; each registers itself and sets the exit code. Only the one that is asked for is
 * loaded: the verifier has no use for the proxy's memory, nor a token for the policy engine's.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Registers>>> = {
  demo: () => import('./demo/demo.js'),
  init: () => import('./init/init.js'),
  serve: () => import('./serve/serve.js'),
  wrap: () => import('./wrap/wrap.js'),
  tokens: () => import('./tokens.js'),
  config: () => import('./config.js'),
  manifest: () => import('./manifest/manifest.js'),
  tools: () => import('./tools/tools.js'),
  keys: () => import('./keys.js'),
  verify: () => import('./verify/verify.js'),
  conformance: () => import('./conformance/conformance.js'),
  ledger: () => import('./ledger/ledger.js'),
  journal: () => import('./journal.js'),
  evidence: () => import('./evidence.js'),
  approvals: () => import('./approvals.js'),
  halt: () => import('./halt.js'),
  resume: () => import('./halt.js'),
  sessions: () => import('./sessions/sessions.js'),
  session: () => import('./sessions/sessions.js'),
  mandates: () => import('./mandates.js'),
  missions: () => import('./missions.js'),
  objects: () => import('./objects.js'),
  outcome: () => import('./outcome.js'),
  doctor: () => import('./doctor/doctor.js'),
  webhooks: () => import('./webhooks.js'),
}

/** The named command's file; all of them where none is named, for the list of them. */
async function filesFor(name: string | undefined): Promise<readonly Registers[]> {
  const one = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (one !== undefined) return [await one()]
  return [...new Set(await Promise.all(Object.values(COMMANDS).map((load) => load())))]
}

async function main(argv: readonly string[]): Promise<number> {
  const program = new Command('capsule-gate')
    .description('A gate between AI agents and their tools, with a signed record of every verdict.')
    .version(version())
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
  for (const command of await filesFor(argv[2])) command.register(program)
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    // Commander has printed its own message; asking for help is no mistake.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    process.stderr.write(`capsule-gate: ${describe(error)}\n`)
    return error instanceof UsageError ? EXIT.usage : EXIT.failed
  }
}

/** Several problems stand on lines of their own; control characters in them are spelled out. */
function describe(error: unknown): string {
  const wayOut = error instanceof GateError ? `\n${error.hint}` : ''
  return `${messageOf(error)}${wayOut}`.split('\n').map(plain).join('\n  ')
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(EXIT.ok)
})
process.exitCode = await main(process.argv)
