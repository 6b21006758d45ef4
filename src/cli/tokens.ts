import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { existsSync } from '../adapters/disk/files.js'
import {
  createToken,
  ROLES,
  type Role,
  readTokens,
  revokeTokens,
} from '../adapters/identity/tokens.js'
import { folderOptions, mayMake } from './access/data-folder.js'
import { print, printResult, table, UsageError } from './output/print.js'

type Options = { dir: string; config?: string; json?: boolean }
type Grant = { role: Role; name: string; group: string[]; developer?: string; machine?: true }

/** stdout is the token alone, so that it can go straight into a secret store; the rest is on stderr. */
export function register(program: Command): void {
  const tokens = program.command('tokens').description('make, list and revoke access tokens')
  const add = (name: string, description: string): Command =>
    folderOptions(tokens.command(name).description(description), '--dir')

  add('create', 'print a new token once; only its hash is kept')
    .addOption(
      new Option('--role <role>', 'agent: data plane; others: admin plane')
        .choices([...ROLES])
        .default('agent'),
    )
    .requiredOption('--name <name>', 'whom it is given to; policies know agents by it')
    .option('--group <group...>', 'roles that policies or approvals ask for', [])
    .option('--machine', 'for a program: what it decides is recorded as policy, never as a human')
    .option('--developer <name>', 'what capsules name as developer (agents)')
    .action((options: Options & Grant) => {
      const { dir, role, name, group: groups, developer, machine } = options
      mayMake(options, dir)
      const { token, record } = createToken(dir, {
        role,
        name,
        groups,
        ...(developer !== undefined && { developer }),
        ...(machine && { machine }),
        now: new Date(),
      })
      print(token)
      note(`${role} ${name}: shown once, kept as sha256 ${record.sha256} in ${resolve(dir)}`)
    })

  add('list', 'names, roles and hashes; never a token')
    .option('--json', 'print JSON')
    .action((options: Options) => {
      mustBeThere(options.dir)
      const all = readTokens(options.dir)
      printResult(options, { tokens: all }, () =>
        table(
          all.map(({ role, name, groups, machine, created_at, sha256 }) => [
            role,
            name,
            groups.join(','),
            machine ? 'machine' : '',
            created_at,
            sha256,
          ]),
        ),
      )
    })

  add('revoke', 'every token of that name stops working, in running gates within a second')
    .requiredOption('--name <name>', 'whose')
    .action(({ dir, name }: Options & { name: string }) => {
      mustBeThere(dir)
      const count = revokeTokens(dir, name)
      if (count === 0) throw new UsageError(`there is no token for ${name} in ${dir}`)
      note(`${name}: ${count} revoked`)
    })
}

function mustBeThere(dir: string): void {
  if (!existsSync(dir))
    throw new UsageError(`there is no data folder ${dir}: name --config or --dir`)
}

const note = (line: string): void => {
  process.stderr.write(`${line}\n`)
}
