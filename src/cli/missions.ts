import { type Command, Option } from 'commander'
import { PHASES } from '../gate/operate/set-mission.js'
import type { MissionShown } from '../mounts/admin/routes/governed.js'
import { type AdminTarget, adminOptions, callAdmin } from './access/admin-client.js'
import { plain, printResult } from './output/print.js'

const HELP = `
No call is sent under a mission that is not ACTIVE; a mission that was never set is. In force on the next
call, and on calls judged but not yet sent; recorded, and kept over restarts.`

export function register(program: Command): void {
  const missions = program.command('missions').description('say in which phase a mission is')
  adminOptions(missions.command('set').description('set the phase of a mission'))
    .argument('<ref>', 'the mission, a UUID')
    .addOption(new Option('--phase <phase>').choices(PHASES).makeOptionMandatory())
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(set)
}

async function set(ref: string, options: AdminTarget & { phase: string }): Promise<void> {
  const path = `/v1/missions/${encodeURIComponent(ref)}`
  const done = await callAdmin<MissionShown>(options, 'POST', path, { phase: options.phase })
  const how = done.recorded ? 'is' : 'was already'
  printResult(options, done, () => `mission ${plain(ref)} ${how} ${done.phase}`)
}
