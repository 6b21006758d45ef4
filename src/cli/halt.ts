import type { Command } from 'commander'
import type { HaltScope } from '../gate/operate/halt.js'
import { type AdminTarget, adminOptions, callAdmin } from './access/admin-client.js'
import { plain, printError, printResult, UsageError } from './output/print.js'

type Kind = Exclude<HaltScope['kind'], 'all'>
type Scope = Partial<Record<Kind, string>> & { all?: boolean }
type Options = AdminTarget & Scope & { list?: boolean }
type Halts = { readonly halts: readonly HaltScope[]; readonly warning: string | null }

const HELP = `
In force on the next call, and on calls judged but not yet sent; recorded, and kept over restarts.
Without a token at hand: kill -USR2 PID halts everything.`

/** The kill switch, and taking it back. */
export function register(program: Command): void {
  const scoped = (name: string, description: string): Command =>
    adminOptions(program.command(name).description(description))
      .option('--agent <name>', 'one agent')
      .option('--session <id>', 'one session of declared calls')
      .option('--tool <name>', 'one tool')
      .option('--operator <name>', 'one operator')
      .option('--all', 'everything')
      .option('--json', 'print JSON')

  scoped('halt', 'stop calls of an agent, of a session, to a tool, of an operator, or all')
    .option('--list', 'only show what is halted')
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      if (options.list === true) await halts(options, 'GET')
      else await halts(options, 'POST', '', { scope: scopeOf(options) })
    })
  scoped('resume', 'take back exactly that halt; others stay').action((options: Options) =>
    halts(options, 'DELETE', `?${new URLSearchParams({ ...scopeOf(options) })}`),
  )
}

/** Exactly one: leaving something out must not halt everything. */
function scopeOf({ agent, session, tool, operator, all }: Scope): HaltScope {
  const named = Object.entries({ agent, session, tool, operator }).filter(
    ([, name]) => name !== undefined,
  )
  const [first] = named
  if (named.length + (all === true ? 1 : 0) !== 1) {
    throw new UsageError(
      'say one of --agent NAME, --session ID, --tool NAME, --operator NAME, --all',
    )
  }
  if (first === undefined) return { kind: 'all' }
  return { kind: first[0] as Kind, name: String(first[1]) }
}

async function halts(
  options: Options,
  method: 'GET' | 'POST' | 'DELETE',
  query = '',
  body?: object,
): Promise<void> {
  const { halts, warning } = await callAdmin<Halts>(options, method, `/v1/halts${query}`, body)
  const lines = halts.map((halt) =>
    halt.kind === 'all' ? 'halted: everything' : `halted: ${plain(`${halt.kind} ${halt.name}`)}`,
  )
  printResult(options, { halts, warning }, () => (lines.length > 0 ? lines : 'nothing is halted'))
  if (warning !== null) printError(`warning: ${warning}`)
}
