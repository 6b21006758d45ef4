import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { cli, MAIN } from '../support.js'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'capsule-gate-demo-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

/** `201 executed confirmed` … of every call, in order. */
const verdicts = (out: string): string[] =>
  [...out.matchAll(/^ {2}\S+: refund \S+ of \S+ +(\d+) +(\w+) +(\S+) +[0-9a-f]{12}$/gm)].map(
    ([, status, verdict, effect]) => `${status} ${verdict} ${effect}`,
  )
const EXPECTED = [
  '201 executed confirmed',
  '404 executed failed',
  '403 blocked -',
  '403 denied -',
  '504 timeout dispatched',
  '502 errored dispatched',
  '202 hitl_dispatched -',
]

describe('demo --once', () => {
  it('shows every kind of ending, verifies its own journal and exits 0', async () => {
    const { code, out, err } = await cli(['demo', '--once'], { cwd: dir })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(verdicts(out)).toEqual(EXPECTED)
    expect(out).toContain('8/8 capsules verified')
    expect(readdirSync(dir)).toEqual(['.capsule-gate'])
  })

  it('prints verify commands that hold as printed, from the folder it ran in', async () => {
    const spaced = join(dir, "it's a folder")
    mkdirSync(spaced)
    const { out } = await cli(['demo', '--once', '--data', join(spaced, 'd')], { cwd: dir })
    const commands = [...out.matchAll(/^ {4}((?:grep|npx) .*\n {6}.*)$/gm)].map(([, text]) => text)
    expect(commands).toHaveLength(2)
    for (const command of commands) {
      const local = (command as string).replaceAll(
        'npx capsule-gate',
        `"${process.execPath}" ${MAIN}`,
      )
      const ran = spawnSync('sh', ['-c', local], { cwd: dir, encoding: 'utf8' })
      expect({ status: ran.status, err: ran.stderr }).toEqual({ status: 0, err: '' })
      expect(ran.stdout).toContain('VALID')
    }
  })

  it('takes a fresh folder each time and leaves the earlier records alone', async () => {
    await cli(['demo', '--once'], { cwd: dir })
    const journal = join(dir, '.capsule-gate/demo/1/data/journal/00000001.jsonl')
    const before = readFileSync(journal, 'utf8')
    const second = await cli(['demo', '--once'], { cwd: dir })
    expect(second.code).toBe(0)
    expect(readdirSync(join(dir, '.capsule-gate/demo'))).toEqual(['1', '2'])
    expect(readFileSync(journal, 'utf8')).toBe(before)
  })

  it('refuses a named folder that holds something, and touches nothing in it', async () => {
    writeFileSync(join(dir, 'gate.yaml'), 'mine')
    const { code, err } = await cli(['demo', '--once', '--data', dir])
    expect({ code, named: err.includes(dir) }).toEqual({ code: 2, named: true })
    expect(readdirSync(dir)).toEqual(['gate.yaml'])
  })

  it('writes no agent token and no tool credential into capsules or journal', async () => {
    await cli(['demo', '--once', '--data', join(dir, 'd')])
    const journal = readFileSync(join(dir, 'd/data/journal/00000001.jsonl'), 'utf8')
    const credential = readFileSync(join(dir, 'd/payments.credential'), 'utf8').trim()
    expect(credential).toMatch(/^Bearer .{24}$/)
    expect(journal).not.toContain(credential.slice(7))
    expect(journal).not.toContain('o-1001')
  })
})

describe('demo', () => {
  let child: ChildProcess | null = null
  afterEach(async () => {
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      await ended
    }
    child = null
  })

  async function start(): Promise<string> {
    const running = spawn(process.execPath, [MAIN, 'demo'], { cwd: dir })
    child = running
    let out = ''
    await new Promise<void>((resolve, reject) => {
      running.stdout.on('data', (chunk) => {
        out += chunk
        if (out.includes('Ctrl-C ends it')) resolve()
      })
      running.on('close', () => reject(new Error(`ended early: ${out}`)))
    })
    return out
  }

  it('stays up: the curl it prints is blocked with a capsule; Ctrl-C ends it with 0', async () => {
    const out = await start()
    const [, url, token] = /curl -i (\S+) -H 'Authorization: Bearer (\S+)'/.exec(out) ?? []
    const body = /-d '(.*)'/.exec(out)?.[1] as string
    const call = () =>
      fetch(url as string, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      })
    const answer = await call()
    expect(answer.status).toBe(403)
    expect(answer.headers.get('gate-verdict')).toBe('blocked')
    expect(answer.headers.get('gate-capsule')).toMatch(/^[0-9a-f]{64}$/)
    const tool = /payments tool +(\S+)/.exec(out)?.[1] as string
    const around = await fetch(`${tool}/v1/refunds`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body,
    })
    expect(around.status).toBe(401)
    const ended = once(child as ChildProcess, 'close')
    child?.kill('SIGINT')
    expect((await ended)[0]).toBe(0)
    await expect(call()).rejects.toThrow()
    await expect(fetch(tool)).rejects.toThrow()
  })

  it('lets a person approve the waiting call; the same call then executes, and an agent may not', async () => {
    const out = await start()
    const [, admin] = /people decide at +(http:\S+)\/approvals/.exec(out) ?? []
    const approver = /^ {4}token (\S+)$/m.exec(out)?.[1] as string
    const [, url, agent] = /curl -i (\S+) -H 'Authorization: Bearer (\S+)'/.exec(out) ?? []
    const ask = (path: string, token: string, body?: object) =>
      fetch(`${admin}${path}`, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
    expect([401, 403]).toContain((await ask('/v1/approvals', agent as string)).status)
    const { approvals } = (await (await ask('/v1/approvals', approver)).json()) as {
      approvals: { approval_id: string; document_digest: string }[]
    }
    expect(approvals).toHaveLength(1)
    const { approval_id, document_digest } = approvals[0] as (typeof approvals)[0]
    const decision = { decision: 'approve', digest: document_digest, reason: 'seen' }
    const decided = await ask(`/v1/approvals/${approval_id}/decision`, approver, decision)
    expect(decided.status).toBe(200)
    const again = await fetch(url as string, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent}`, 'content-type': 'application/json' },
      body: JSON.stringify({ order: 'o-1001', currency: 'EUR', amount: '250.00' }),
    })
    expect([again.status, again.headers.get('gate-verdict')]).toEqual([201, 'executed'])
  })

  it('finds free ports when the usual ones are taken', async () => {
    // One that somebody else holds may be let go at any moment: only ours are asked about.
    const holders = await Promise.all(
      [8080, 8081, 9100].map(async (port) => {
        const holder = createServer().listen(port, '127.0.0.1')
        const held = await once(holder, 'listening').catch(() => null)
        return { port, holder, held: held !== null }
      }),
    )
    try {
      const out = await start()
      expect(verdicts(out)).toEqual(EXPECTED)
      for (const { port } of holders.filter(({ held }) => held)) {
        expect(out).not.toContain(`127.0.0.1:${port}`)
      }
    } finally {
      for (const { holder } of holders) holder.close()
    }
  })
})
