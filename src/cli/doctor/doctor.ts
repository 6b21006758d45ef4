import type { Command } from 'commander'
import { loadConfig } from '../../config/load.js'
import { sayProblem } from '../../config/model.js'
import { EXIT, painter, plain, print, printJson } from '../output.js'
import { attempt, type Check, fail, ok } from './check.js'
import { checkEvidence } from './evidence.js'
import { checkFolder } from './folder.js'
import { checkJournal } from './journal.js'
import { checkJudges } from './judges.js'
import { checkNetwork } from './network.js'

type Options = { config: string; json?: boolean }

/** What is wrong with an installation, and what to type. It changes nothing. */
export function register(program: Command): void {
  program
    .command('doctor')
    .description('say what is wrong with an installation and how to mend it; changes nothing')
    .option('--config <file>', 'gate.yaml', 'gate.yaml')
    .option('--json', 'print JSON')
    .action(async ({ config, json }: Options) => {
      const checks = await examine(config)
      const healthy = checks.every(({ status }) => status !== 'fail')
      if (json === true) printJson({ ok: healthy, checks })
      else for (const check of checks) show(check)
      process.exitCode = healthy ? EXIT.ok : EXIT.failed
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

function show({ name, status, detail, fix }: Check): void {
  const paint = painter(process.stdout)
  print(`${paint(COLOUR[status], status.padEnd(4))}  ${plain(name)}: ${plain(detail)}`)
  if (fix !== null) print(`      ${plain(fix)}`)
}
