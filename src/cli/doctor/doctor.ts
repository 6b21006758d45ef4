import type { Command } from 'commander'
import { loadConfig } from '../../config/load.js'
import { sayProblem } from '../../config/model.js'
import { EXIT, painter, plain, printResult } from '../output/print.js'
import { attempt, type Check, fail, ok } from './check.js'
import { checkFolder } from './folder.js'
import { checkEvidence, checkJournal } from './journal.js'
import { checkJudges } from './judges.js'
import { checkNetwork } from './network.js'

/** What is wrong with an installation, and what to type. It changes nothing. */
export function register(program: Command): void {
  program
    .command('doctor')
    .description('say what is wrong with an installation and how to mend it; changes nothing')
    .option('--config <file>', 'gate.yaml', 'gate.yaml')
    .option('--json', 'print JSON')
    .action(async (options: { config: string; json?: boolean }) => {
      const checks = await examine(options.config)
      const ok = checks.every(({ status }) => status !== 'fail')
      printResult(options, { ok, checks }, () => checks.flatMap(describe))
      process.exitCode = ok ? EXIT.ok : EXIT.failed
    })
}

async function examine(file: string): Promise<readonly Check[]> {
  const loaded = loadConfig(file, process.env)
  if (!loaded.ok) {
    const way = `capsule-gate config check ${file}`
    return loaded.problems.map((problem) => fail('config', sayProblem(problem), way))
  }
  const { config } = loaded
  const look = `look at ${config.data_dir}`
  return [
    ok('config', file),
    ...(await attempt('data folder', look, () => checkFolder(config))),
    ...(await attempt('journal', look, () => checkJournal(config, Date.now()))),
    ...(await attempt('evidence', look, () => checkEvidence(config))),
    ...(await attempt('manifests', `look at ${config.manifests}`, () => checkJudges(config))),
    ...(await checkNetwork(config)),
  ]
}

const COLOUR = { ok: 'green', warn: 'yellow', fail: 'red' } as const

function describe({ name, status, detail, fix }: Check): string[] {
  const paint = painter(process.stdout)
  const line = `${paint(COLOUR[status], status.padEnd(4))}  ${plain(name)}: ${plain(detail)}`
  return fix === null ? [line] : [line, `      ${plain(fix)}`]
}
