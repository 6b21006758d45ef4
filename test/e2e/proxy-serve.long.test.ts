import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

/** The shipped command from outside: files on disk, a real process, signals. */
const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')
let dir: string
let upstream: Server
let origin: string
let hold: ((req: string) => Promise<void>) | null = null
const running: ChildProcess[] = []

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'serve-'))
  upstream = createServer((req, res) => {
    if (req.url === '/stream') {
      // A gigabyte, as fast as the reader takes it.
      const piece = Buffer.alloc(1024 * 1024, 'g')
      let left = 1024
      res.writeHead(200, { 'content-length': piece.length * left })
      const go = (): void => {
        while (left-- > 0) if (!res.write(piece)) return void res.once('drain', go)
        res.end()
      }
      return go()
    }
    const answer = (): void => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ auth: req.headers.authorization ?? null, url: req.url }))
    }
    req.resume()
    return hold === null ? answer() : void hold(req.url ?? '').then(answer)
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})
afterEach(() => {
  hold = null
  for (const child of running.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})
afterAll(async () => {
  upstream.closeAllConnections()
  await new Promise((resolve) => upstream.close(resolve))
  rmSync(dir, { recursive: true, force: true })
})

type Serving = {
  child: ChildProcess
  url: string
  said: () => string
  exit: Promise<number | null>
}

async function serve(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Serving> {
  const child = spawn(
    process.execPath,
    [MAIN, 'serve', '--port', '0', '--admin-port', '0', ...args],
    {
      env: { ...process.env, ...env },
    },
  )
  running.push(child)
  let said = ''
  child.stdout?.resume()
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (text: Buffer) => {
      said += text
      const found = /agents connect to\s+(\S+)[\s\S]*records/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
    void exit.then((code) => reject(new Error(`exit ${code}: ${said}`)))
  })
  return { child, url, said: () => said, exit }
}

const journal = (data: string): string =>
  readdirSync(join(data, 'journal'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(data, 'journal', name), 'utf8'))
    .join('')
const capsules = (data: string): number =>
  journal(data)
    .split('\n')
    .filter((line) => line.includes('"type":"CAPSULE"') && !line.includes('capsulegate.canary'))
    .length

describe('serve with the files of the design page', () => {
  const token = 'cg_agent_e2e'
  const refund = (url: string, amount: string, bearer = token) =>
    fetch(`${url}/v1/refunds`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
      body: JSON.stringify({ order: 'o1', currency: 'EUR', amount }),
    })
  const env = {
    PAYMENTS_TOKEN: 'Bearer upstream-secret',
    BOT_TOKEN_SHA256: createHash('sha256').update(token).digest('hex'),
  }
  const write = (): string => {
    const home = mkdtempSync(join(dir, 'files-'))
    mkdirSync(join(home, 'manifests'))
    mkdirSync(join(home, 'policies'))
    writeFileSync(
      join(home, 'gate.yaml'),
      `upstream: ${origin}\ncredential: {header: Authorization, env: PAYMENTS_TOKEN}\nagents: {support-bot: {token_sha256_env: BOT_TOKEN_SHA256}}\n`,
    )
    writeFileSync(
      join(home, 'manifests', 'payments.yaml'),
      `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    irreversibility: one_way_consequential
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      known_currency: {currency: {in: [EUR, USD]}}
`,
    )
    writeFileSync(
      join(home, 'policies', 'payments.cedar'),
      `@id("support-refunds") permit (principal == Agent::"support-bot", action == Action::"create_refund", resource);
@id("large-refund") @hem("required") forbid (principal, action == Action::"create_refund", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
`,
    )
    return home
  }

  it('executes, blocks, asks for a human, and sends the gate’s credential instead of the agent’s', async () => {
    const home = write()
    const { url, child, exit, said } = await serve(['--config', join(home, 'gate.yaml')], env)
    const done = await refund(url, '10.00')
    expect(done.status).toBe(200)
    expect(await done.json()).toEqual({ auth: 'Bearer upstream-secret', url: '/v1/refunds' })
    expect((await refund(url, '500.01')).headers.get('gate-verdict')).toBe('blocked')
    expect([202, 403]).toContain((await refund(url, '200.00')).status)
    expect((await refund(url, '10.00', 'wrong')).status).toBe(401)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    expect(said()).toContain('enforce')
    expect(said()).not.toContain('upstream-secret')
    expect(capsules(join(home, 'data'))).toBe(4)
  })

  it('a token made with `tokens create` works, and stops working when it is revoked', async () => {
    const home = write()
    const data = join(home, 'data')
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [MAIN, 'tokens', ...args, '--dir', data], { encoding: 'utf8' })
    const made = run('create', '--name', 'support-bot')
    expect(made.stdout).toMatch(/^cg_agent_\S+\n$/)
    expect(made.stderr).not.toContain(made.stdout.trim())
    expect(run('list').stdout).not.toContain(made.stdout.trim())
    const { url } = await serve(['--config', join(home, 'gate.yaml')], env)
    expect((await refund(url, '1.00', made.stdout.trim())).status).toBe(200)
    expect(run('revoke', '--name', 'support-bot').status).toBe(0)
    while ((await refund(url, '1.00', made.stdout.trim())).status !== 401);
    expect(run('revoke', '--name', 'support-bot').status).toBe(2)
  })

  it('does not start without the second head of its journal, until it is told to, once', async () => {
    const home = write()
    const args = ['--config', join(home, 'gate.yaml')]
    const second = join(home, 'data.head')
    const live = async (more: readonly string[] = []): Promise<void> => {
      const { url, child, exit } = await serve([...args, ...more], env)
      expect((await refund(url, '10.00')).status).toBe(200)
      child.kill('SIGTERM')
      expect(await exit).toBe(0)
    }
    await live()
    rmSync(second)
    await expect(serve(args, env)).rejects.toThrow(/exit 1: .*--accept-missing-head/s)
    expect(existsSync(second)).toBe(false)
    await live(['--accept-missing-head'])
    await live()
    expect(capsules(join(home, 'data'))).toBe(3)
  })

  it('does not start on a policy that permits everything, and says why', async () => {
    const home = write()
    writeFileSync(
      join(home, 'policies', 'payments.cedar'),
      '@id("all") permit (principal, action, resource);',
    )
    await expect(serve(['--config', join(home, 'gate.yaml')], env)).rejects.toThrow(/exit [1-9]/)
  })
})

describe('serve --upstream --observe', () => {
  it('needs no file, records everything and finishes what is under way when it is told to stop', async () => {
    const data = join(dir, 'observe')
    const { url, child, exit, said } = await serve([
      '--upstream',
      origin,
      '--observe',
      '--data',
      data,
    ])
    expect(said()).toContain('OBSERVE')
    expect((await fetch(`${url}/any/path?x=1`)).status).toBe(200)
    let arrived = (): void => {}
    const there = new Promise<void>((resolve) => {
      arrived = resolve
    })
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    hold = () => {
      arrived()
      return gate
    }
    const last = fetch(`${url}/slow`)
    await there
    child.kill('SIGTERM')
    while (!said().includes('draining')) await new Promise((resolve) => setImmediate(resolve))
    go()
    expect((await last).status).toBe(200)
    expect(await exit).toBe(0)
    expect(capsules(data)).toBe(2)
  })

  it('a second signal ends it at once', async () => {
    const { url, child, exit, said } = await serve([
      '--upstream',
      origin,
      '--observe',
      '--data',
      join(dir, 'twice'),
    ])
    let arrived = (): void => {}
    const there = new Promise<void>((resolve) => {
      arrived = resolve
    })
    hold = () => {
      arrived()
      return new Promise(() => {})
    }
    fetch(`${url}/never`).catch(() => {})
    await there
    child.kill('SIGTERM')
    while (!said().includes('draining')) await new Promise((resolve) => setImmediate(resolve))
    child.kill('SIGTERM')
    expect(await exit).toBe(1)
  })

  it('a gigabyte passes through a process that does not grow with it', async () => {
    const { url, child } = await serve([
      '--upstream',
      origin,
      '--observe',
      '--data',
      join(dir, 'gigabyte'),
    ])
    const rss = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
    await fetch(`${url}/warm`)
    const before = rss()
    let peak = 0
    let bytes = 0
    const answer = await fetch(`${url}/stream`)
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes % (32 * 1024 * 1024) < chunk.length) peak = Math.max(peak, rss())
    }
    expect(bytes).toBe(1024 * 1024 * 1024)
    process.stdout.write(
      `1 GB streamed: RSS ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} MiB at most\n`,
    )
    expect(peak).toBeLessThan(before + 256)
  })
})
