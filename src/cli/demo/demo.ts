import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { readFileSync } from '../../adapters/disk/files.js'
import { type Started, startGate } from '../../app/serve.js'
import { loadConfig } from '../../config/load.js'
import type { Capsule } from '../../core/capsule/model.js'
import { parseKeyring } from '../../core/statement/keys.js'
import { CANARY } from '../../gate/operate/canary.js'
import { EXIT, painter, print, printError, problemsError } from '../output/print.js'
import { stopSignal } from '../serve/stop-signal.js'
import { verifyInput } from '../verify/file.js'
import { openSource, readInput } from '../verify/input.js'
import { CALLS, type Happened, make } from './agent.js'
import { demoFolder, writeDemo } from './files.js'
import {
  describeCalls,
  howToDecide,
  howToVerify,
  journalFile,
  keyringFile,
  whatToTry,
  whereToLook,
} from './text.js'
import { listenNear, startTool } from './tool.js'

type Options = { once?: boolean; data?: string }
const TOOL_PORT = 9100

export function register(program: Command): void {
  program
    .command('demo')
    .description('a payments tool, a gate in front of it, and agents that try it; loopback only')
    .option('--once', 'show it and exit')
    .option('--data <directory>', 'an empty or new folder (default: .capsule-gate/demo/N)')
    .action(async (options: Options) => {
      process.exitCode = await demo(options)
    })
}

async function demo({ once, data }: Options): Promise<number> {
  // From the beginning: a Ctrl-C during the calls ends after them.
  const stop = stopSignal()
  const dir = demoFolder(data)
  const credential = `Bearer ${randomBytes(18).toString('base64url')}`
  const tool = await startTool(TOOL_PORT, credential)
  let running: Started | null = null
  try {
    const files = writeDemo(dir, tool.origin, credential)
    running = await startDemoGate(files.config)
    const { gate, agentsUrl } = running
    const people = `${running.adminUrl}/approvals`
    const capsules = new Map<string, Capsule>()
    gate.data.subscribe((line) => {
      if (line.type === 'CAPSULE') capsules.set(line.capsule.capsule_id, line.capsule)
    })
    printAll(whereToLook(agentsUrl, people, tool.origin, dir), [''])
    const happened: Happened[] = []
    for (const call of CALLS) happened.push(await make(call, agentsUrl, files.tokens))
    printAll(describeCalls(happened, capsules, painter(process.stdout)), [''])
    const verified = await verifyOwn(dir)
    print(`  ${verified.line}`)
    const odd = happened.filter((one) => !asExpected(one, capsules.get(one.capsuleId)))
    for (const { call } of odd) {
      printError(`${call.agent}, ${call.amount} of ${call.order}: not the verdict it should get`)
    }
    printAll([''], howToVerify(files.dir, happened[0]?.capsuleId ?? ''))
    if (once !== true) {
      for (const waiting of await gate.data.state.approvals()) {
        printAll(howToDecide(waiting, people, files))
      }
      printAll(whatToTry(agentsUrl, files.tokens['support-bot']))
      printAll(['', '  Ctrl-C ends it; the records stay.'])
      await stop
    }
    return verified.ok && odd.length === 0 ? EXIT.ok : EXIT.failed
  } finally {
    await running?.close(0)
    await tool.close()
  }
}

const printAll = (...lists: readonly (readonly string[])[]): void => {
  for (const line of lists.flat()) print(line)
}

/** The gate as `serve` would run it from the same file, in this process so that nothing outlives it. */
function startDemoGate(configFile: string): Promise<Started> {
  const loaded = loadConfig(configFile, {})
  if (!loaded.ok) throw problemsError(loaded.problems)
  return startGate(loaded.config, {
    report: ({ level, event, detail }) => {
      if (level === 'error') printError(`${event} ${detail ?? ''}`)
    },
    env: {},
    listen: listenNear,
  })
}

const asExpected = ({ call }: Happened, capsule: Capsule | undefined): boolean =>
  capsule !== undefined &&
  capsule.disposition.verdict_class === call.verdict &&
  (capsule.effect?.status ?? null) === call.effect

/** The journal as an auditor gets it: the files, the public keys, and the offline verifier. */
async function verifyOwn(dir: string): Promise<{ ok: boolean; line: string }> {
  const keyring = parseKeyring(readFileSync(keyringFile(dir)))
  if (!keyring.ok) return { ok: false, line: `keyring: ${keyring.path} ${keyring.detail}` }
  const report = await verifyInput(await readInput(openSource(journalFile(dir))), {
    profile: 'strict',
    keys: keyring.keys,
    onProblem: ({ severity, code, detail }) => {
      if (severity === 'error') printError(`${code} ${detail ?? ''}`)
    },
  })
  const { capsules = 0, invalid = 0 } = report.ledger ?? {}
  return {
    ok: report.status === 'valid' && capsules === CALLS.length + 1,
    line: `${capsules - invalid}/${capsules} capsules verified: ${CALLS.length} calls, and ${CANARY}, refused at start as proof`,
  }
}
