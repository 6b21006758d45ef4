#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { GateError } from '../core/error.js'
import * as approvals from './approvals.js'
import * as config from './config.js'
import * as conformance from './conformance.js'
import * as demo from './demo.js'
import * as doctor from './doctor.js'
import * as evidence from './evidence.js'
import * as halt from './halt.js'
import * as init from './init.js'
import * as keys from './keys.js'
import * as ledger from './ledger.js'
import * as manifest from './manifest.js'
import * as outcome from './outcome.js'
import { EXIT, plain, UsageError } from './output.js'
import * as serve from './serve.js'
import * as tokens from './tokens.js'
import * as verify from './verify.js'
import * as webhooks from './webhooks.js'

/** One file per command; each registers itself and sets the exit code. */
const COMMANDS: readonly { register(program: Command): void }[] = [
  demo,
  init,
  serve,
  tokens,
  config,
  manifest,
  keys,
  verify,
  conformance,
  ledger,
  evidence,
  approvals,
  halt,
  outcome,
  doctor,
  webhooks,
]

async function main(argv: readonly string[]): Promise<number> {
  const program = new Command('capsule-gate')
    .description('A gate between AI agents and their tools, with a signed record of every verdict.')
    .version(version())
    .exitOverride()
    .showHelpAfterError('(add --help for the options)')
  for (const command of COMMANDS) command.register(program)
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    // Commander has printed its own message; asking for help is no mistake.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    process.stderr.write(`capsule-gate: ${messageOf(error)}\n`)
    return error instanceof UsageError ? EXIT.usage : EXIT.failed
  }
}

/** Several problems stand on lines of their own; what a line holds is shown, never obeyed. */
function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const wayOut = error instanceof GateError ? `\n${error.wayOut}` : ''
  return `${text}${wayOut}`.split('\n').map(plain).join('\n  ')
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
