import type { Command } from 'commander'
import { effective } from '../config/effective.js'
import { loadConfig } from '../config/load.js'
import { gateJsonSchema } from '../config/schema.js'
import { print, printProblems, printResult } from './output/print.js'

export function register(program: Command): void {
  const command = program.command('config').description('check and describe gate.yaml')
  command
    .command('check')
    .description('load the configuration and print what it amounts to, secrets masked')
    .argument('[file]', 'gate.yaml; without it, defaults and environment')
    .option('--json', 'for programs')
    .action((file: string | undefined, options: { json?: boolean }) => {
      const loaded = loadConfig(file ?? null, process.env)
      if (!loaded.ok) return printProblems(loaded.problems, options.json)
      const config = effective(loaded.config)
      printResult(options, { ok: true, config }, () => JSON.stringify(config, null, 2))
    })
  command
    .command('schema')
    .description('the JSON Schema of gate.yaml, for editors')
    .action(() => print(JSON.stringify(gateJsonSchema(), null, 2)))
}
