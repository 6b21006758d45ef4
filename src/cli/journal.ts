import type { Command } from 'commander'
import { type Examined, isClean } from '../adapters/journal/start/adopt.js'
import { adoptData } from '../app/data/adopt.js'
import { GateError } from '../core/error.js'
import { folderOptions } from './data-folder.js'
import { EXIT, plain, print, printJson, UsageError } from './output.js'

type Options = { data: string; head: string; accept?: boolean; json?: boolean }

const HELP = `
Version 1 wrote no signed heads, so nothing covers its lines. Every signature in the journal is checked; what no
signature vouches for is listed, and taken over only with --accept: look at each line first. The gate must be
stopped. Exit codes: 0 adopted, 1 refused, 3 there is something to accept and nothing was written.`

export function register(program: Command): void {
  const journal = program.command('journal').description('take over a journal of an older version')
  folderOptions(journal.command('adopt').description('go on with a journal of version 1'))
    .option('--head <file>', 'second head (default: journal.head_file of gate.yaml, or DATA.head)')
    .option('--accept', 'take over what is listed, after looking at it')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options: Options) => {
      process.exitCode = await adopt(options)
    })
}

async function adopt({ data, head, accept = false, json = false }: Options): Promise<number> {
  const done = await adoptData(data, head, (found) => accept || isClean(found)).catch(whileRunning)
  if (done === null) throw new UsageError(`there is no journal in ${data} (--data)`)
  if (json) printJson({ ...done })
  else {
    tell(done.found)
    print(
      done.kind === 'adopted'
        ? `adopted up to line ${done.found.upto}; head ${done.head.upto} is in ${plain(head)}`
        : 'nothing was written: look at what is listed, then say --accept',
    )
  }
  return done.kind === 'adopted' ? EXIT.ok : EXIT.incomplete
}

function tell({ upto, lines, capsules, unsigned, orphans, secondHead }: Examined): void {
  print(
    `version 1, ${lines} lines here up to line ${upto}, ${capsules} capsules: every signature holds`,
  )
  for (const { seq, type } of unsigned) print(`  not signed: line ${seq}, ${plain(type)}`)
  for (const id of orphans)
    print(`  without an end: call ${plain(id)}; the next start concludes it`)
  if (secondHead === 'missing') print('  no second head: lines may be missing at the end')
}

function whileRunning(error: unknown): never {
  if (!(error instanceof GateError) || error.code !== 'locked') throw error
  throw new Error(`${error.message}: stop the gate first`)
}
