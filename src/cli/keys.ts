import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { addCpsKey } from '../adapters/keys/add.js'
import { createKeys } from '../adapters/keys/create.js'
import {
  exportKeyring,
  listKeys,
  type OwnKey,
  type OwnPurpose,
  PURPOSES,
} from '../adapters/keys/keyring.js'
import { addKnownKey, knownKeys, removeKnownKey } from '../adapters/keys/known.js'
import { rotateKeys } from '../adapters/keys/rotate.js'
import { whpk } from '../adapters/webhook/sign.js'
import { keyFault } from '../core/cps/keys.js'
import type { PublicKeyRecord } from '../core/statement/keys.js'
import { folderOf, mayMake } from './access/data-folder.js'
import { painter, plain, printResult, table, UsageError } from './output/print.js'

type Options = { dir: string; config?: string; json?: boolean }

const withFolder = (under: Command, name: string, description: string): Command =>
  under
    .command(name)
    .description(description)
    .option('--config <file>', 'gate.yaml (default: gate.yaml here, if there is one)')
    .option('--dir <directory>', "key directory (default: keys in the gate's data folder)")
    .option('--json', 'print JSON')
    .hook('preAction', (_, called) => {
      const { dir, ...given } = called.opts<Partial<Options>>()
      if (dir === undefined) called.setOptionValue('dir', join(folderOf(given).data, 'keys'))
    })

export function register(program: Command): void {
  const keys = program.command('keys').description('make, list, rotate and export signing keys')
  const add = (name: string, description: string): Command => withFolder(keys, name, description)
  registerKnown(keys)

  add('create', 'make one Ed25519 key per purpose, epoch 1').action(async (options: Options) => {
    mayMake(options, options.dir)
    printKeys(options, await createKeys(options.dir))
  })

  add('add', 'make the key that seals capsules of the Capsule Protocol, which not every gate has')
    .addOption(new Option('--purpose <purpose>', 'which key').choices(['cps']).default('cps'))
    .action(async (options: Options) => printKeys(options, [await addCpsKey(options.dir)]))

  add('list', 'show every epoch; no private key is printed').action((options: Options) =>
    printKeys(options, listKeys(options.dir)),
  )

  add('rotate', 'begin a new epoch and destroy the private key of the old one')
    .addOption(
      new Option('--purpose <purpose>', 'which key')
        .choices([...PURPOSES, 'cps'])
        .default('statement'),
    )
    .action(async (options: Options & { purpose: OwnPurpose }) => {
      const rotated = await rotateKeys(options.dir, options.purpose)
      printResult(options, rotated, () => [
        ...rowsOf([rotated.retired, rotated.active]),
        `Give auditors the new keyring: capsule-gate keys export --dir ${options.dir}`,
      ])
    })

  add('export', 'print the public keyring that verifiers pin')
    .option('--webhook', 'only the webhook keys, as receivers of webhooks take them (whpk_…)')
    .action((options: Options & { webhook?: boolean }) => {
      const keyring = exportKeyring(options.dir)
      if (options.webhook !== true) {
        return printResult(options, keyring, () => JSON.stringify(keyring, null, 2))
      }
      const own = webhookKeys(keyring.keys)
      printResult(options, { keys: own }, () => table(own.map(({ key, status }) => [key, status])))
    })
}

/** Keys of chains that others sealed: `verify --keys` takes the file they are kept in, known.json. */
function registerKnown(keys: Command): void {
  const known = keys
    .command('known')
    .description('public keys of capsule chains that others sealed')
  const add = (name: string, description: string): Command => withFolder(known, name, description)

  add('ls', 'every known key').action((options: Options) =>
    printResult(options, { known: knownKeys(options.dir) }, () =>
      table(knownKeys(options.dir).map(({ fingerprint, publicKey }) => [fingerprint, publicKey])),
    ),
  )
  add('add', 'know a key; its fingerprint is the first 16 digits')
    .argument('<public-key>', 'Ed25519, 64 hex digits')
    .action(async (publicKey: string, options: Options) => {
      const fault = keyFault({ publicKey })
      if (fault !== null) throw new UsageError(`${plain(publicKey.slice(0, 80))} ${fault}`)
      const added = await addKnownKey(options.dir, publicKey)
      const said = { fingerprint: publicKey.slice(0, 16), added }
      printResult(options, said, () => `${said.fingerprint} ${added ? 'added' : 'was known'}`)
    })
  add('rm', 'forget a key')
    .argument('<fingerprint>', '16 hex digits')
    .action(async (fingerprint: string, options: Options) => {
      const removed = await removeKnownKey(options.dir, fingerprint)
      if (!removed) throw new UsageError(`no known key has the fingerprint ${fingerprint}`)
      printResult(options, { fingerprint, removed }, () => `${fingerprint} removed`)
    })
}

/** Newest first: a receiver accepts the retired one while deliveries signed with it are under way. */
const webhookKeys = (keys: readonly PublicKeyRecord[]) =>
  keys
    .filter(({ purpose }) => purpose === 'webhook')
    .map(({ public_key, status, epoch }) => ({ key: whpk(public_key), status, epoch }))
    .reverse()

const printKeys = (options: Options, keys: readonly OwnKey[]): void =>
  printResult(options, { keys }, () => rowsOf(keys))

function rowsOf(keys: readonly OwnKey[]): string[] {
  const paint = painter(process.stdout)
  const rows = keys.map((key) => [
    key.purpose,
    `epoch ${key.epoch}`,
    key.status,
    `from ${key.valid_from}`,
    key.valid_to === undefined ? '' : `to ${key.valid_to}`,
    key.kid,
  ])
  return table(rows, (cell) => {
    if (cell === 'active') return paint('green', cell)
    return cell === 'retired' ? paint('dim', cell) : cell
  })
}
