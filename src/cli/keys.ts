import { type Command, Option } from 'commander'
import { createKeys } from '../adapters/keys/create.js'
import { exportKeyring, listKeys, type OwnKey, PURPOSES } from '../adapters/keys/keyring.js'
import { rotateKeys } from '../adapters/keys/rotate.js'
import type { SigningPurpose } from '../ports.js'
import { painter, print, printJson, table } from './output.js'

const DEFAULT_DIR = 'keys'
type Options = { dir: string; json?: boolean }

export function register(program: Command): void {
  const keys = program.command('keys').description('make, list, rotate and export signing keys')
  const add = (name: string, description: string): Command =>
    keys
      .command(name)
      .description(description)
      .option('--dir <directory>', 'key directory', DEFAULT_DIR)
      .option('--json', 'print JSON')

  add('create', 'make one Ed25519 key per purpose, epoch 1').action(async (options: Options) => {
    const made = await createKeys(options.dir)
    if (options.json) printJson({ keys: made })
    else show(made)
  })

  add('list', 'show every epoch; no private key is printed').action((options: Options) => {
    const all = listKeys(options.dir)
    if (options.json) printJson({ keys: all })
    else show(all)
  })

  add('rotate', 'begin a new epoch and destroy the private key of the old one')
    .addOption(
      new Option('--purpose <purpose>', 'which key').choices([...PURPOSES]).default('statement'),
    )
    .action(async (options: Options & { purpose: SigningPurpose }) => {
      const rotated = await rotateKeys(options.dir, options.purpose)
      if (options.json) printJson(rotated)
      else {
        show([rotated.retired, rotated.active])
        print(`Give auditors the new keyring: capsule-gate keys export --dir ${options.dir}`)
      }
    })

  add('export', 'print the public keyring that verifiers pin').action((options: Options) => {
    const keyring = exportKeyring(options.dir)
    if (options.json) printJson(keyring)
    else print(JSON.stringify(keyring, null, 2))
  })
}

function show(keys: readonly OwnKey[]): void {
  const paint = painter(process.stdout)
  const rows = keys.map((key) => [
    key.purpose,
    `epoch ${key.epoch}`,
    key.status,
    `from ${key.valid_from}`,
    key.valid_to === undefined ? '' : `to ${key.valid_to}`,
    key.kid,
  ])
  for (const line of table(rows, (cell) => {
    if (cell === 'active') return paint('green', cell)
    return cell === 'retired' ? paint('dim', cell) : cell
  })) {
    print(line)
  }
}
