import type { Command } from 'commander'
import { effective } from '../config/effective.js'
import { loadConfig } from '../config/load.js'
import { gateJsonSchema } from '../config/schema.js'
import { print, printJson } from './output.js'
import { reportProblems } from './problems.js'

type Options = { json?: boolean }

export function register(program: Command): void {
  const command = program.command('config').description('check and describe gate.yaml')
  command
    .command('check')
    .description('load the configuration and print what it amounts to, secrets masked')
    .argument('[file]', 'gate.yaml; without it, defaults and environment')
    .option('--json', 'for programs')
    .action((file: string | undefined, { json }: Options) => {
      const loaded = loadConfig(file ?? null, process.env)
      if (!loaded.ok) reportProblems(loaded.problems, json === true)
      else if (json === true) printJson({ ok: true, config: effective(loaded.config) })
      else print(JSON.stringify(effective(loaded.config), null, 2))
    })
  command
    .command('schema')
    .description('the JSON Schema of gate.yaml, for editors')
    .action(() => print(JSON.stringify(gateJsonSchema(), null, 2)))
}
