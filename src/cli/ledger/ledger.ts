import type { Command } from 'commander'
import { folderOptions } from '../access/data-folder.js'
import { archive } from './archive.js'
import { exportLedger } from './export.js'
import { list, showOne, tail } from './list.js'
import { type VerifyOptions, verifyFolder } from './verify.js'

const FILTERS = `
--tool and --agent are those of the call, refused or dispatched. Refusals of older versions name
neither: they are found by agent only if their developer is called the same, and never by tool. What
was refused and why stands in the evidence (capsule-gate evidence show ACTION_ID).`

const EVIDENCE = `
With --evidence: 0 whole, 1 something is missing or damaged, 3 it cannot be told (no master key). What was
erased is whole: the line that erased it is named.`

/** Reads the journal's files beside a running gate; only `archive` needs it to be stopped. */
export function register(program: Command): void {
  const ledger = program
    .command('ledger')
    .description('read, export, verify and archive the journal')
  const add = (name: string, description: string): Command =>
    folderOptions(ledger.command(name).description(description)).option('--json', 'print JSON')
  const filtered = (command: Command): Command =>
    command
      .option('--verdict <class>', 'only this verdict class')
      .option('--tool <name>', 'only calls of this tool')
      .option('--agent <name>', 'only calls of this agent')
      .option(
        '--decision <id>',
        'only what was decided together: an approval, its retries, its outcomes',
      )
      .option('--since <time>', 'RFC 3339, or 15m, 24h, 7d')
      .addHelpText('after', FILTERS)

  filtered(add('ls', 'capsules, oldest first')).action(list)

  filtered(add('tail', 'the newest capsules'))
    .option('-n, --lines <count>', 'how many', '10')
    .option('-f, --follow', 'and those that come, until interrupted')
    .action(tail)

  add('show', 'an action or capsule, what supersedes it and what came of it')
    .argument('<id>', 'action_id or capsule_id')
    .option('--cose <file>', 'write the signed statement, byte for byte, instead')
    .action(showOne)

  add('export', 'lines, public keys, manifests and policies for an auditor; nothing private')
    .requiredOption('--out <directory>', 'a new or empty folder')
    .action(exportLedger)

  add('verify', 'check the whole journal, and that it reaches its second head')
    .option('--keys <keyring>', "pinned public keys (default: the folder's own)")
    .option('--head <file>', 'second head (default: journal.head_file of gate.yaml, or DATA.head)')
    .option('--evidence', 'open every evidence record too, and hold the lines against them')
    .option('--master-key <file>', 'evidence key (default: as in gate.yaml, or in the data folder)')
    .addHelpText('after', EVIDENCE)
    .action(async (options: VerifyOptions) => {
      process.exitCode = await verifyFolder(options)
    })

  add('archive', 'move the oldest sealed segments elsewhere, while the gate is stopped')
    .requiredOption('--to <directory>', 'where to')
    .option('--keep <count>', 'how many of the newest segments stay', '1')
    .action(archive)
}
