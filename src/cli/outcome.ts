import { type Command, Option } from 'commander'
import type { Capsule } from '../core/capsule/model.js'
import { type AdminTarget, adminOptions, callAdmin } from './access/admin-client.js'
import { printResult } from './output/print.js'

type Options = AdminTarget & { status: string; ref: string }

const HELP = `
The action's own capsule stays as it is; the outcome is a signed statement beside it, with the same
subject. "confirmed" by word is recorded as claimed: the gate did not see it.`

export function register(program: Command): void {
  const outcome = program.command('outcome').description('state what became of an action')
  adminOptions(outcome.command('record').description('record an outcome statement'))
    .argument('<action_id>', 'the action it is about')
    .addOption(
      new Option('--status <status>', 'what became of it')
        .choices(['confirmed', 'failed', 'reverted'])
        .makeOptionMandatory(),
    )
    .requiredOption('--ref <reference>', 'where the outside world has it: a ticket, a booking')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (action_id: string, options: Options) => {
      const { status, ref } = options
      const body = { action_id, status, ref }
      const done = await callAdmin<{ capsule: Capsule }>(options, 'POST', '/v1/outcomes', body)
      const { capsule_id, effect } = done.capsule
      printResult(options, done, () => `${capsule_id}  ${effect?.status ?? ''}  of ${action_id}`)
    })
}
