import type { Command } from 'commander'
import { submitRequest } from '../adapters/webhook/requests.js'
import type { OutboxState } from '../adapters/webhook/state.js'
import { readOutbox } from '../adapters/webhook/store.js'
import { webhookFolder } from '../app/webhooks.js'
import { folderOptions } from './data-folder.js'
import { plain, print, printJson, table, UsageError } from './output.js'

type Options = { data: string; json?: boolean; endpoint?: string }

/** Looks at the outbox of a gate, running or not; changes go to it as orders it carries out itself. */
export function register(program: Command): void {
  const webhooks = program.command('webhooks').description('notifications: state, losses, replay')
  const add = (name: string, description: string): Command =>
    folderOptions(webhooks.command(name).description(description)).option('--json', 'for programs')

  add('ls', 'endpoints, and what waits for each').action((options: Options) => {
    const rows = endpoints(outbox(options))
    if (options.json) printJson({ endpoints: rows })
    else if (rows.length === 0) print('No endpoints.')
    else {
      show(
        ['endpoint', 'state', 'pending', 'next attempt', 'dead', 'url'],
        rows.map(({ name, disabled, pending, next, dead, url }) => [
          name,
          disabled === null ? 'on' : `disabled ${disabled}`,
          String(pending),
          next ?? '-',
          String(dead),
          url,
        ]),
      )
    }
  })

  add('dead', 'dead letters, oldest first')
    .option('--endpoint <name>', 'of this one alone')
    .action((options: Options) => {
      const letters = lettersOf(options)
      if (options.json) printJson({ dead: letters })
      else if (letters.length === 0) print('No dead letters.')
      else {
        show(
          ['id', 'endpoint', 'event', 'since', 'why'],
          letters.map(({ id, endpoint, type, since, why }) => [id, endpoint, type, since, why]),
        )
      }
    })

  add('replay', 'send dead letters again, under their ids')
    .argument('[id...]', 'which; without, those of --endpoint')
    .option('--endpoint <name>', 'all of this one')
    .action((ids: string[], options: Options) => {
      if ((ids.length === 0) === (options.endpoint === undefined)) {
        throw new UsageError('name either ids or --endpoint')
      }
      const known = lettersOf(options).map(({ id }) => id)
      const unknown = ids.find((id) => !known.includes(id))
      if (unknown !== undefined) throw new UsageError(`${plain(unknown)} is no dead letter`)
      const chosen = ids.length === 0 ? known : ids
      if (chosen.length > 0) {
        submitRequest(webhookFolder(options.data), { kind: 'replay', ids: chosen })
      }
      ordered(options, `${chosen.length} to be sent again`)
    })

  add('enable', 'use an endpoint again that answered 410')
    .argument('<endpoint>')
    .action((endpoint: string, options: Options) => {
      if (!outbox(options).endpoints.has(endpoint)) {
        throw new UsageError(`there is no endpoint ${plain(endpoint)}`)
      }
      submitRequest(webhookFolder(options.data), { kind: 'enable', endpoint })
      ordered(options, `${endpoint} to be enabled`)
    })
}

function outbox({ data }: Options): OutboxState {
  const state = readOutbox(webhookFolder(data))
  if (state === null)
    throw new UsageError(`${plain(data)} holds no outbox: name --config or --data`)
  return state
}

const lettersOf = (options: Options) =>
  [...outbox(options).dead.values()].filter(
    ({ endpoint }) => options.endpoint === undefined || endpoint === options.endpoint,
  )

function endpoints(state: OutboxState) {
  return [...state.endpoints].map(([name, { url, disabled }]) => {
    const pending = [...state.pending.values()].filter(({ endpoint }) => endpoint === name)
    const next = Math.min(...pending.map((delivery) => delivery.next))
    return {
      name,
      url,
      disabled,
      pending: pending.length,
      next: pending.length === 0 ? null : new Date(next).toISOString(),
      dead: [...state.dead.values()].filter(({ endpoint }) => endpoint === name).length,
    }
  })
}

function show(head: readonly string[], rows: readonly (readonly string[])[]): void {
  for (const line of table([head, ...rows.map((row) => row.map(plain))])) print(line)
}

function ordered({ json }: Options, what: string): void {
  if (json) printJson({ ordered: what })
  else print(`${what}: within seconds where the gate runs, else at its next start.`)
}
