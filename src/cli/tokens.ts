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
import { folderOptions, mayMake } from './data-folder.js'
import { print, printJson, table, UsageError } from './output.js'

type Options = { dir: string; config?: string; json?: boolean }

/** stdout is the token alone, so that it can go straight into a secret store; the rest is talk. */
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
    .action(
      (
        options: Options & {
          role: Role
          name: string
          group: string[]
          developer?: string
          machine?: boolean
        },
      ) => {
        const { dir, role, name, group, developer, machine } = options
        mayMake(options, dir)
        const { token, record } = createToken(dir, {
          role,
          name,
          groups: group,
          ...(developer === undefined ? {} : { developer }),
          ...(machine === true ? { machine } : {}),
          now: new Date(),
        })
        print(token)
        say(`${role} ${name}: shown once, kept as sha256 ${record.sha256} in ${resolve(dir)}`)
      },
    )

  add('list', 'names, roles and hashes; never a token')
    .option('--json', 'print JSON')
    .action(({ dir, json }: Options) => {
      mustBeThere(dir)
      const all = readTokens(dir)
      if (json === true) printJson({ tokens: all })
      else {
        const rows = all.map((t) => [
          t.role,
          t.name,
          t.groups.join(','),
          t.machine ? 'machine' : '',
          t.created_at,
          t.sha256,
        ])
        for (const line of table(rows)) print(line)
      }
    })

  add('revoke', 'every token of that name stops working, in running gates within a second')
    .requiredOption('--name <name>', 'whose')
    .action(({ dir, name }: Options & { name: string }) => {
      mustBeThere(dir)
      const count = revokeTokens(dir, name)
      if (count === 0) throw new UsageError(`there is no token for ${name} in ${dir}`)
      say(`${name}: ${count} revoked`)
    })
}

function mustBeThere(dir: string): void {
  if (!existsSync(dir))
    throw new UsageError(`there is no data folder ${dir}: name --config or --dir`)
}

const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}
