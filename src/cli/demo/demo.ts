import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { readFileSync } from '../../adapters/disk/files.js'
import type { Capsule } from '../../core/capsule/model.js'
import { parseKeyring } from '../../core/statement/keys.js'
import { CANARY } from '../../gate/operate/canary.js'
import { EXIT, painter, plain, print, progress } from '../output.js'
import { verifyInput } from '../verify/file.js'
import { openSource, readInput } from '../verify/input.js'
import { CALLS, type Happened, make } from './agent.js'
import { demoFolder, writeDemo } from './files.js'
import { startDemoGate } from './gate.js'
import {
  howToDecide,
  howToVerify,
  journalFile,
  keyringFile,
  whatHappened,
  whatToTry,
  whereToLook,
} from './tell.js'
import { startTool } from './tool.js'

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
  const stop = stopSignal()
  const complain = (line: string): void => {
    process.stderr.write(`${plain(line)}\n`)
  }
  const dir = demoFolder(data)
  const credential = `Bearer ${randomBytes(18).toString('base64url')}`
  const tool = await startTool(TOOL_PORT, credential)
  try {
    const files = writeDemo(dir, tool.origin, credential)
    const running = await startDemoGate(files.config, complain)
    try {
      const capsules = new Map<string, Capsule>()
      running.gate.data.subscribe((line) => {
        if (line.type === 'CAPSULE') capsules.set(line.capsule.capsule_id, line.capsule)
      })
      for (const line of whereToLook(running.url, running.people, tool.origin, dir)) print(line)
      print('')
      const happened: Happened[] = []
      for (const call of CALLS) happened.push(await make(call, running.url, files.tokens))
      for (const line of whatHappened(happened, capsules, painter(process.stdout))) print(line)
      print('')
      const verified = await verifyOwn(dir, complain)
      print(`  ${verified.said}`)
      const odd = happened.filter((one) => !asExpected(one, capsules.get(one.capsuleId)))
      for (const { call } of odd) {
        complain(`${call.agent}, ${call.amount} of ${call.order}: not the verdict it should get`)
      }
      print('')
      for (const line of howToVerify(files.dir, happened[0]?.capsuleId ?? '')) print(line)
      if (once !== true) {
        for (const waiting of await running.gate.data.state.approvals()) {
          for (const line of howToDecide(waiting, running.people, files)) print(line)
        }
        for (const line of whatToTry(running.url, files.tokens['support-bot'])) print(line)
        print('')
        print('  Ctrl-C ends it; the records stay.')
        await stop
      }
      return verified.ok && odd.length === 0 ? EXIT.ok : EXIT.failed
    } finally {
      await running.close()
    }
  } finally {
    await tool.close()
  }
}

const asExpected = ({ call }: Happened, capsule: Capsule | undefined): boolean =>
  capsule !== undefined &&
  capsule.disposition.verdict_class === call.verdict &&
  (capsule.effect?.status ?? null) === call.effect

/** The journal as an auditor gets it: the files, the public keys, and the verifier that knows no gate. */
async function verifyOwn(
  dir: string,
  complain: (line: string) => void,
): Promise<{ ok: boolean; said: string }> {
  const keyring = parseKeyring(readFileSync(keyringFile(dir)))
  if (!keyring.ok) return { ok: false, said: `keyring: ${keyring.path} ${keyring.detail}` }
  const source = openSource(journalFile(dir))
  const report = await verifyInput(
    await readInput(source),
    {
      profile: 'strict',
      keys: keyring.keys,
      onProblem: ({ severity, code, detail }) => {
        if (severity === 'error') complain(`${code} ${detail ?? ''}`)
      },
    },
    progress('', null),
  )
  const { capsules = 0, invalid = 0 } = report.ledger ?? {}
  const count = `${capsules - invalid}/${capsules}`
  return {
    ok: report.status === 'valid' && capsules === CALLS.length + 1,
    said: `${count} capsules verified: ${CALLS.length} calls, and ${CANARY}, refused at start as proof`,
  }
}

/** Asked for from the beginning: a Ctrl-C during the calls ends after them, a second one at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    const stop = (): void => {
      if (asked) process.exit(EXIT.failed)
      asked = true
      resolve()
    }
    process.on('SIGINT', stop)
    process.on('SIGTERM', stop)
  })
}
