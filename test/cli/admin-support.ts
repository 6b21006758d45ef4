import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from '@jest/globals'
import { createToken, ROLES, type Role } from '../../src/adapters/identity/tokens.js'
import { PAYMENTS } from '../support/manifests.js'
import { POLICIES } from '../support/rig.js'
import { cli, MAIN, type Ran } from './support.js'

const AGENT = 'cg_agent_for-command-tests'

/** An installation on disk, an upstream, and the shipped command in front of it. */
export type Installation = {
  readonly home: string
  readonly config: string
  readonly data: string
  /** Files with a token each, for --token-file. */
  readonly tokenFile: Readonly<Record<Role, string>>
  /** Bodies that reached the upstream. */
  readonly received: string[]
  readonly env: Readonly<Record<string, string>>
  start(): Promise<Serving>
  close(): Promise<void>
}
export type Serving = {
  readonly child: ChildProcess
  readonly agents: string
  readonly admin: string
  /** What it logged so far. */
  log(): string
  logged(pattern: RegExp): Promise<void>
  refund(amount: string, order?: string): Promise<Response>
  stop(): Promise<number | null>
}

export async function install(): Promise<Installation> {
  const home = mkdtempSync(join(tmpdir(), 'gate-cli-'))
  const received: string[] = []
  const upstream = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      received.push(body)
      response.setHeader('content-type', 'application/json')
      response.end('{"ok":true}')
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const config = join(home, 'gate.yaml')
  writeFileSync(
    config,
    `upstream: ${origin}\noperator: acme\nagents: {support-bot: {token_sha256_env: BOT_TOKEN_SHA256}}\njournal: {segment_bytes: 65536}\n`,
  )
  for (const folder of ['manifests', 'policies', 'tokens']) mkdirSync(join(home, folder))
  writeFileSync(join(home, 'manifests', 'payments.yaml'), PAYMENTS)
  writeFileSync(join(home, 'policies', 'payments.cedar'), POLICIES)
  const data = join(home, 'data')
  const tokenFile = Object.fromEntries(
    ROLES.map((role) => {
      const file = join(home, 'tokens', role)
      const made = createToken(data, { role, name: `the-${role}`, groups: [], now: new Date() })
      writeFileSync(file, `${made.token}\n`, { mode: 0o600 })
      return [role, file]
    }),
  ) as Record<Role, string>
  const env = { BOT_TOKEN_SHA256: createHash('sha256').update(AGENT).digest('hex') }
  const running: ChildProcess[] = []
  return {
    home,
    config,
    data,
    tokenFile,
    received,
    env,
    async start() {
      const args = [MAIN, 'serve', '--config', config, '--port', '0', '--admin-port', '0']
      const child = spawn(process.execPath, args, { env: { ...process.env, ...env } })
      running.push(child)
      return serving(child)
    },
    async close() {
      for (const child of running) if (child.exitCode === null) child.kill('SIGKILL')
      upstream.closeAllConnections()
      await new Promise((resolve) => upstream.close(resolve))
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** An installation whose gate runs for all tests of a file. */
export function running() {
  const at = {
    home: undefined as unknown as Installation,
    gate: undefined as unknown as Serving,
    run: (args: readonly string[], role: Role = 'operator'): Promise<Ran> =>
      cli([...args, '--url', at.gate.admin, '--token-file', at.home.tokenFile[role]]),
  }
  beforeAll(async () => {
    at.home = await install()
    at.gate = await at.home.start()
  })
  afterAll(() => at.home.close())
  return at
}

async function serving(child: ChildProcess): Promise<Serving> {
  let log = ''
  let said = ''
  let wake = (): void => {}
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  child.stdout?.on('data', (chunk) => {
    log += chunk
    wake()
  })
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk) => {
      said += chunk
      if (/records/.test(said)) resolve()
    })
    void exit.then((code) => reject(new Error(`exit ${code}: ${said}`)))
  })
  const agents = String(/agents connect to\s+(\S+)/.exec(said)?.[1])
  return {
    child,
    agents,
    admin: String(/operators\s+(\S+)/.exec(said)?.[1]),
    log: () => log,
    async logged(pattern) {
      while (!pattern.test(log)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    refund: (amount, order = 'o-1') =>
      fetch(`${agents}/v1/refunds`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${AGENT}` },
        body: JSON.stringify({ order, currency: 'EUR', amount }),
      }),
    async stop() {
      child.kill('SIGTERM')
      return exit
    },
  }
}
