import { createHash, randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from '../../adapters/disk/files.js'
import { createToken } from '../../adapters/identity/tokens.js'
import { UsageError } from '../output/print.js'

/** The folder of one demonstration: what an operator would have written, plus secrets made for it. */
export type DemoFiles = ReturnType<typeof writeDemo>
export type DemoAgent = keyof DemoFiles['tokens']

/** Long enough for any loopback answer, short enough to wait for. */
const TOOL_DEADLINE_MS = 1500
const PACKAGE = new URL('../../../', import.meta.url)

/** Fresh every time, so that what is shown is what just happened; a named one must be empty. */
export function demoFolder(named: string | undefined): string {
  const parent = resolve(named ?? join('.capsule-gate', 'demo'))
  if (named !== undefined && existsSync(parent) && readdirSync(parent).length > 0) {
    throw new UsageError(`${parent} is not empty: name a new folder, or remove it first`)
  }
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  if (named !== undefined) return parent
  for (let number = 1; ; number++) {
    const dir = join(parent, String(number))
    try {
      mkdirSync(dir, { mode: 0o700 })
      return dir
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** For the command line; a person with a browser types it in. */
export const approverFile = (dir: string): string => join(dir, 'approver.token')

/** Manifest and policies are the package's own, unchanged. The credential is the gate's: no agent has it. */
export function writeDemo(dir: string, toolOrigin: string, credential: string) {
  const tokens = { 'support-bot': newToken(), 'intern-bot': newToken() }
  for (const [folder, file] of [
    ['manifests', 'payments.yaml'],
    ['policies', 'payments.cedar'],
  ] as const) {
    mkdirSync(join(dir, folder), { mode: 0o700 })
    copyFileSync(new URL(`${folder}/${file}`, PACKAGE), join(dir, folder, file))
  }
  const secret = { mode: 0o600 }
  writeFileSync(join(dir, 'payments.credential'), `${credential}\n`, secret)
  const config = join(dir, 'gate.yaml')
  writeFileSync(config, gateYaml(toolOrigin, tokens), secret)
  const { token: approver } = createToken(join(dir, 'data'), {
    role: 'approver',
    name: 'you',
    groups: ['approver'],
    now: new Date(),
  })
  writeFileSync(approverFile(dir), `${approver}\n`, secret)
  // The approver's token is what a person signs in with to decide.
  return { dir, config, tokens, approver }
}

const gateYaml = (
  origin: string,
  tokens: Readonly<Record<string, string>>,
): string => `operator: demo
upstreams:
  default:
    url: ${origin}
    credential: {header: Authorization, file: payments.credential}
    deadlines: {total_ms: ${TOOL_DEADLINE_MS}}
agents:
${Object.entries(tokens)
  .map(([agent, token]) => `  ${agent}: {token_sha256: ${sha256(token)}}\n`)
  .join('')}`

const newToken = (): string => `demo_${randomBytes(18).toString('base64url')}`
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
