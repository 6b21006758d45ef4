import type { Command } from 'commander'
import { type Examined, isClean } from '../adapters/journal/start/adopt.js'
import { adoptData } from '../app/data/adopt.js'
import { folderOptions, ifLocked } from './access/data-folder.js'
import { EXIT, plain, printResult, UsageError } from './output/print.js'

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

async function adopt({ data, head, accept = false, ...options }: Options): Promise<number> {
  const done = await adoptData(data, head, (found) => accept || isClean(found)).catch(
    ifLocked(({ message }) => `${message}: stop the gate first`),
  )
  if (done === null) throw new UsageError(`there is no journal in ${data} (--data)`)
  const adopted = done.kind === 'adopted'
  printResult(options, done, () => [
    ...describe(done.found),
    adopted
      ? `adopted up to line ${done.found.upto}; head ${done.head.upto} is in ${plain(head)}`
      : 'nothing was written: look at what is listed, then say --accept',
  ])
  return adopted ? EXIT.ok : EXIT.incomplete
}

const describe = ({ upto, lines, capsules, unsigned, orphans, secondHead }: Examined): string[] => [
  `version 1, ${lines} lines here up to line ${upto}, ${capsules} capsules: every signature holds`,
  ...unsigned.map(({ seq, type }) => `  not signed: line ${seq}, ${plain(type)}`),
  ...orphans.map((id) => `  without an end: call ${plain(id)}; the next start concludes it`),
  ...(secondHead === 'missing' ? ['  no second head: lines may be missing at the end'] : []),
]
