import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { readJournal } from '../../src/adapters/journal/read/read-journal.js'
import { exportKeyring } from '../../src/adapters/keys/keyring.js'
import { verifyLedger } from '../../src/verify.js'
import { draws, sample } from '../support/draws.js'
import { expectEvidence } from '../support/evidence.js'
import { POLICIES } from '../support/rig.js'

/**
 * kill -9 over real sockets: clients that finish, clients that leave at any moment, a tool that keeps
 * its own log. What the tool received and what clients were told is reconciled with the journal.
 */
const SEAMS = sample(
  [
    'before_intent',
    'after_intent',
    'before_first_byte',
    'after_last_byte',
    'before_capsule',
    'after_capsule',
    'before_write',
    'after_write',
    'before_sync',
    'after_sync',
    'before_evidence_write',
    'after_evidence_sync',
  ],
  5,
)
const BATCHED = /write|sync/
const CLIENTS = 40
const CHILD = join(import.meta.dirname, '..', 'support', 'torture-proxy-child.mjs')
const dir = mkdtempSync(join(tmpdir(), 'gate-torture-http-'))
const sha256 = (data: Uint8Array | string): string =>
  createHash('sha256').update(data).digest('hex')

/** SHA-256 of every body the tool read whole, in order. */
const received: string[] = []
/** SHA-256 of every body whose sender read a whole 200. */
const told: string[] = []
let tool: Server
let origin = ''

beforeAll(async () => {
  tool = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      received.push(sha256(Buffer.concat(chunks)))
      const big = received.length % 7 === 0
      res.writeHead(200, { 'content-type': big ? 'text/plain' : 'application/json' })
      // Some answers are longer than what is held: they stream, and only their end waits.
      res.end(big ? 'x'.repeat(2_000_000) : '{"ok":true}')
    })
  })
  await new Promise<void>((resolve) => tool.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(tool.address() as AddressInfo).port}`
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'policies', 'p.cedar'), POLICIES)
})
afterAll(() => {
  tool.closeAllConnections()
  tool.close()
  rmSync(dir, { recursive: true, force: true })
})

function start(seam: string, hits: number): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(CHILD, [dir, origin, seam, String(hits)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve({ child, port: (message as { port: number }).port }))
    child.once('exit', (code, signal) =>
      reject(new Error(`${seam}: gone at start, ${code} ${signal}`)),
    )
  })
}

/** One client, one connection, one call after another until the gate is gone; some leave half-way. */
function client(port: number, name: string, dead: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    let n = 0
    const call = (): void => {
      if (dead() || n > 60) {
        resolve()
        return
      }
      const leaves = ++n % 9 === 0
      const body = JSON.stringify({
        order: `${name}-${n}`,
        currency: 'EUR',
        amount: n % 5 === 0 ? '600' : '5',
      })
      const socket = connect(port, '127.0.0.1')
      let answer = Buffer.alloc(0)
      socket.on('error', () => undefined)
      socket.on('connect', () => {
        const head = `POST /v1/refunds HTTP/1.1\r\nhost: gate\r\nauthorization: Bearer t\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`
        socket.write(head + (leaves && n % 2 === 0 ? body.slice(0, 10) : body))
        if (leaves) setImmediate(() => socket.destroy())
      })
      socket.on('data', (chunk: Buffer) => {
        answer = Buffer.concat([answer, chunk])
      })
      socket.on('close', () => {
        if (isWhole200(answer)) told.push(sha256(body))
        setImmediate(call)
      })
    }
    call()
  })
}

function isWhole200(answer: Buffer): boolean {
  const end = answer.indexOf('\r\n\r\n')
  const head = answer.toString('latin1', 0, end)
  if (end === -1 || !head.startsWith('HTTP/1.1 200')) return false
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  if (length !== undefined) return answer.length === end + 4 + Number(length)
  return answer.subarray(-5).toString('latin1') === '0\r\n\r\n'
}

it('reconciles to zero with the tool and with the clients, wherever it is killed', async () => {
  const kills: Record<string, number> = {}
  for (const [index, seam] of SEAMS.entries()) {
    const { child, port } = await start(seam, BATCHED.test(seam) ? 20 + 3 * index : 60 + 7 * index)
    let dead = false
    let said = ''
    child.stdout?.on('data', (chunk) => {
      said += String(chunk)
    })
    const gone = new Promise<NodeJS.Signals | null>((resolve) => {
      child.once('exit', (_code, signal) => {
        dead = true
        resolve(signal)
      })
    })
    await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) => client(port, `${seam}-${i}`, () => dead)),
    )
    const signal = dead ? await gone : null
    if (signal !== 'SIGKILL') child.kill('SIGKILL')
    await gone
    expect({ seam, signal, said }).toEqual({ seam, signal: 'SIGKILL', said: `killed at ${seam}\n` })
    kills[seam] = (kills[seam] ?? 0) + 1
  }
  // One clean start concludes what is left, serves, and stops in order.
  const { child, port } = await start('none', 1)
  await client(port, 'last', () => false)
  const stopped = new Promise((resolve) => child.once('exit', resolve))
  child.send('stop')
  expect(await stopped).toBe(0)

  const byBody = new Map<string, string[]>()
  let text = ''
  for await (const { line, raw } of readJournal(join(dir, 'data', 'journal'))) {
    text += `${Buffer.from(raw).toString('utf8').replace(/\n$/, '')}\n`
    if (line.type !== 'CAPSULE') continue
    const { effect } = line.capsule as { effect?: Record<string, unknown> }
    if (effect === undefined) continue
    const { digest } = effect['dev.capsulegate.request_octets'] as { digest: string }
    byBody.set(digest, [...(byBody.get(digest) ?? []), String(effect.status)])
  }
  const tally = {
    received: received.length,
    told: told.length,
    received_twice: received.length - new Set(received).size,
    received_without_capsule: received.filter((body) => !byBody.has(body)).length,
    concluded_twice: [...byBody.values()].filter((statuses) => statuses.length > 1).length,
    told_but_not_confirmed: told.filter((body) => byBody.get(body)?.[0] !== 'confirmed').length,
    confirmed_but_not_received: [...byBody].filter(
      ([body, [status]]) => status === 'confirmed' && !received.includes(body),
    ).length,
  }
  process.stdout.write(
    `torture over HTTP: kills ${JSON.stringify(kills)}\n${JSON.stringify(tally)}\n`,
  )
  expect(tally.received).toBeGreaterThan(draws(300, 100))
  expect(tally).toMatchObject({
    received_twice: 0,
    received_without_capsule: 0,
    concluded_twice: 0,
    told_but_not_confirmed: 0,
    confirmed_but_not_received: 0,
  })
  const { keys } = exportKeyring(join(dir, 'data', 'keys'))
  const { results, journal } = verifyLedger(text, { keys, crypto: nodeCrypto })
  expect(journal).toMatchObject({ status: 'valid', complete: { ok: true } })
  expect(results.filter(({ ok }) => !ok).slice(0, 3)).toEqual([])
  const kept = await expectEvidence(join(dir, 'data'))
  expect(kept.recovered).toBeGreaterThan(0)
  process.stdout.write(`${JSON.stringify(kept)}\n`)
}, 900_000)
