import type { Command } from 'commander'
import type { ObjectSet, ObjectShown } from '../mounts/admin/routes/governed.js'
import { type AdminTarget, adminOptions, callAdmin } from './access/admin-client.js'
import { plain, printResult } from './output/print.js'

const HELP = `
After a call whose outcome nobody saw an object is in no known state, and its transitions are refused until
you have looked and say which it is.`

/** Governed objects of declared calls (manifest: object). */
export function register(program: Command): void {
  const objects = program
    .command('objects')
    .description('show and set the state of governed objects')
  const add = (name: string, description: string): Command =>
    adminOptions(objects.command(name).description(description))
      .argument('<so_id>', 'the object, a UUID, as declarations name it')
      .option('--json', 'print JSON')

  add('show', 'in which state an object is on record').action(show)
  add('set', 'say in which state an object is')
    .requiredOption('--state <state>', 'one that a manifest gives its objects')
    .addHelpText('after', HELP)
    .action(set)
}

const pathOf = (id: string): string => `/v1/objects/${encodeURIComponent(id)}`

async function show(id: string, options: AdminTarget): Promise<void> {
  const found = await callAdmin<ObjectShown>(options, 'GET', pathOf(id))
  const state = found.state === null ? 'in no known state' : plain(found.state)
  printResult(options, found, () => `object ${plain(id)} is ${state}`)
}

async function set(id: string, options: AdminTarget & { state: string }): Promise<void> {
  const done = await callAdmin<ObjectSet>(options, 'POST', pathOf(id), { state: options.state })
  const how = done.recorded ? 'is' : 'was already'
  printResult(options, done, () => `object ${plain(id)} ${how} ${plain(done.state)}`)
}
