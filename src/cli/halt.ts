import type { Command } from 'commander'
import type { HaltScope } from '../gate/operate/halt.js'
import { type AdminTarget, adminOptions, callAdmin } from './admin-client.js'
import { plain, print, printJson, UsageError } from './output.js'

type Options = AdminTarget & {
  agent?: string
  tool?: string
  operator?: string
  all?: boolean
  list?: boolean
  json?: boolean
}
type Halts = { readonly halts: readonly HaltScope[]; readonly warning: string | null }

const HELP = `
In force on the next call, and on calls judged but not yet sent; recorded, and kept over restarts.
Without a token at hand: kill -USR2 PID halts everything.`

/** The kill switch and its undoing. */
export function register(program: Command): void {
  const scoped = (name: string, description: string): Command =>
    adminOptions(program.command(name).description(description))
      .option('--agent <name>', 'one agent')
      .option('--tool <name>', 'one tool')
      .option('--operator <name>', 'one operator')
      .option('--all', 'everything')
      .option('--json', 'print JSON')

  scoped('halt', 'stop calls of an agent, to a tool, of an operator, or all')
    .option('--list', 'only show what is halted')
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      if (options.list === true) show(await callAdmin<Halts>(options, 'GET', '/v1/halts'), options)
      else {
        const body = { scope: scopeOf(options) }
        show(await callAdmin<Halts>(options, 'POST', '/v1/halts', body), options)
      }
    })
  scoped('resume', 'take back exactly that halt; others stay').action(async (options: Options) => {
    const query = new URLSearchParams({ ...scopeOf(options) }).toString()
    show(await callAdmin<Halts>(options, 'DELETE', `/v1/halts?${query}`), options)
  })
}

/** Exactly one: nobody should halt everything by leaving something out. */
function scopeOf({ agent, tool, operator, all }: Options): HaltScope {
  const named = Object.entries({ agent, tool, operator }).filter(([, name]) => name !== undefined)
  const [first] = named
  if (named.length + (all === true ? 1 : 0) !== 1) {
    throw new UsageError('say one of --agent NAME, --tool NAME, --operator NAME, --all')
  }
  if (first === undefined) return { kind: 'all' }
  return { kind: first[0] as 'agent' | 'tool' | 'operator', name: String(first[1]) }
}

function show({ halts, warning }: Halts, { json }: Options): void {
  if (json === true) printJson({ halts, warning })
  else if (halts.length === 0) print('nothing is halted')
  else {
    for (const halt of halts) {
      print(`halted: ${halt.kind === 'all' ? 'everything' : plain(`${halt.kind} ${halt.name}`)}`)
    }
  }
  if (warning !== null) process.stderr.write(`warning: ${plain(warning)}\n`)
}
