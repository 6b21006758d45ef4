import type { Command } from 'commander'
import { submitRequest } from '../adapters/webhook/requests.js'
import type { OutboxState } from '../adapters/webhook/state.js'
import { readOutbox } from '../adapters/webhook/store.js'
import { webhookFolder } from '../app/webhooks.js'
import { folderOptions } from './access/data-folder.js'
import { plain, printResult, table, UsageError } from './output/print.js'

type Options = { data: string; json?: boolean; endpoint?: string }

/** Reads the outbox of a gate, running or not; changes go to it as orders that the gate carries out. */
export function register(program: Command): void {
  const webhooks = program.command('webhooks').description('notifications: state, losses, replay')
  const add = (name: string, description: string): Command =>
    folderOptions(webhooks.command(name).description(description)).option('--json', 'for programs')

  add('ls', 'endpoints, and what waits for each').action((options: Options) => {
    const all = endpoints(outbox(options))
    const head = ['endpoint', 'state', 'pending', 'next attempt', 'dead', 'url']
    const rows = all.map(({ name, disabled, pending, next, dead, url }) => [
      name,
      disabled === null ? 'on' : `disabled ${disabled}`,
      String(pending),
      next ?? '-',
      String(dead),
      url,
    ])
    printResult(options, { endpoints: all }, () => tableOf(head, rows, 'No endpoints.'))
  })

  add('dead', 'dead letters, oldest first')
    .option('--endpoint <name>', 'of this one alone')
    .action((options: Options) => {
      const dead = deadOf(options)
      const head = ['id', 'endpoint', 'event', 'since', 'why']
      const rows = dead.map(({ id, endpoint, type, since, why }) => [
        id,
        endpoint,
        type,
        since,
        why,
      ])
      printResult(options, { dead }, () => tableOf(head, rows, 'No dead letters.'))
    })

  add('replay', 'send dead letters again, under their ids')
    .argument('[id...]', 'which; without, those of --endpoint')
    .option('--endpoint <name>', 'all of this one')
    .action((ids: string[], options: Options) => {
      if ((ids.length === 0) === (options.endpoint === undefined)) {
        throw new UsageError('name either ids or --endpoint')
      }
      const known = deadOf(options).map(({ id }) => id)
      const unknown = ids.find((id) => !known.includes(id))
      if (unknown !== undefined) throw new UsageError(`${plain(unknown)} is no dead letter`)
      const chosen = ids.length === 0 ? known : ids
      if (chosen.length > 0) {
        submitRequest(webhookFolder(options.data), { kind: 'replay', ids: chosen })
      }
      printOrdered(options, `${chosen.length} to be sent again`)
    })

  add('enable', 'use an endpoint again that answered 410')
    .argument('<endpoint>')
    .action((endpoint: string, options: Options) => {
      if (!outbox(options).endpoints.has(endpoint)) {
        throw new UsageError(`there is no endpoint ${plain(endpoint)}`)
      }
      submitRequest(webhookFolder(options.data), { kind: 'enable', endpoint })
      printOrdered(options, `${endpoint} to be enabled`)
    })
}

function outbox({ data }: Options): OutboxState {
  const state = readOutbox(webhookFolder(data))
  if (state === null)
    throw new UsageError(`${plain(data)} holds no outbox: name --config or --data`)
  return state
}

const deadOf = (options: Options) =>
  [...outbox(options).dead.values()].filter(
    ({ endpoint }) => options.endpoint === undefined || endpoint === options.endpoint,
  )

function endpoints(state: OutboxState) {
  return [...state.endpoints].map(([name, { url, disabled }]) => {
    const waiting = [...state.pending.values()].filter(({ endpoint }) => endpoint === name)
    const pending = waiting.length
    const at = Math.min(...waiting.map((delivery) => delivery.next))
    const next = pending === 0 ? null : new Date(at).toISOString()
    const dead = [...state.dead.values()].filter(({ endpoint }) => endpoint === name).length
    return { name, url, disabled, pending, next, dead }
  })
}

const tableOf = (head: string[], rows: string[][], none: string): string | string[] =>
  rows.length === 0 ? none : table([head, ...rows.map((row) => row.map(plain))])

const printOrdered = (options: Options, ordered: string): void =>
  printResult(
    options,
    { ordered },
    () => `${ordered}: within seconds where the gate runs, else at its next start.`,
  )
