import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { createKeys } from '../adapters/keys/create.js'
import { exportKeyring, listKeys, type OwnKey, PURPOSES } from '../adapters/keys/keyring.js'
import { rotateKeys } from '../adapters/keys/rotate.js'
import { whpk } from '../adapters/webhook/sign.js'
import type { PublicKeyRecord } from '../core/statement/keys.js'
import type { SigningPurpose } from '../ports/signer.js'
import { folderOf, mayMake } from './access/data-folder.js'
import { painter, printResult, table } from './output/print.js'

type Options = { dir: string; config?: string; json?: boolean }

export function register(program: Command): void {
  const keys = program.command('keys').description('make, list, rotate and export signing keys')
  const add = (name: string, description: string): Command =>
    keys
      .command(name)
      .description(description)
      .option('--config <file>', 'gate.yaml (default: gate.yaml here, if there is one)')
      .option('--dir <directory>', "key directory (default: keys in the gate's data folder)")
      .option('--json', 'print JSON')
      .hook('preAction', (_, called) => {
        const { dir, ...given } = called.opts<Partial<Options>>()
        if (dir === undefined) called.setOptionValue('dir', join(folderOf(given).data, 'keys'))
      })

  add('create', 'make one Ed25519 key per purpose, epoch 1').action(async (options: Options) => {
    mayMake(options, options.dir)
    printKeys(options, await createKeys(options.dir))
  })

  add('list', 'show every epoch; no private key is printed').action((options: Options) =>
    printKeys(options, listKeys(options.dir)),
  )

  add('rotate', 'begin a new epoch and destroy the private key of the old one')
    .addOption(
      new Option('--purpose <purpose>', 'which key').choices([...PURPOSES]).default('statement'),
    )
    .action(async (options: Options & { purpose: SigningPurpose }) => {
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
