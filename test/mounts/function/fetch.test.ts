import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import { loadConfig } from '../../../src/config/load.js'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { gate as middleware } from '../../../src/express.js'
import { createGate, type EmbeddedGate, GateError } from '../../../src/index.js'
import {
  answering,
  type Behaviour,
  MISBEHAVIOURS,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { fine, respond } from '../../support/verdict-scenarios.js'

const MANIFEST = `id: com.acme.raw
tools:
  read:
    match: POST /read
    also: {body: any}
    deadlines: {connect_ms: 1000, first_byte_ms: 400, total_ms: 800}
  look:
    match: GET /look/{id}
`
const POLICY = `@id("all") permit (principal == Agent::"worker", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
const as = { agent: 'worker' }
let folder: string
let upstream: RawUpstream
let behaviour: Behaviour = fine
let gate: EmbeddedGate
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-fetch-'))
  for (const [path, text] of [
    ['manifests/raw.yaml', MANIFEST],
    ['policies/raw.cedar', POLICY],
  ] as const) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  upstream = await rawUpstream((peer) => behaviour(peer))
  writeFileSync(
    join(folder, 'gate.yaml'),
    `upstream: ${upstream.origin}\ncredential: {header: X-Key, env: UPSTREAM_KEY}\n`,
  )
  gate = await createGate(join(folder, 'gate.yaml'), { env: { UPSTREAM_KEY: 'the-gate-s-own' } })
})
afterAll(async () => {
  await gate.close()
  await upstream.close()
  rmSync(folder, { recursive: true })
})
async function capsules(): Promise<Capsule[]> {
  const out: Capsule[] = []
  for await (const { type, capsule } of gate.read.lines(1)) {
    if (type === 'CAPSULE') out.push(capsule as Capsule)
  }
  return out
}
const post = (body: string, more: object = {}): Promise<Response> =>
  gate.fetch(`${upstream.origin}/read`, { method: 'POST', body, ...as, ...more })

it('a gate inside a program is its methods and its read side: no port and no secret', () => {
  expect(Object.keys(gate).sort()).toEqual([
    'acceptTool',
    'change',
    'close',
    'closeBlocked',
    'closeSession',
    'collect',
    'dispatchApproved',
    'erase',
    'expireDue',
    'fetch',
    'govern',
    'governs',
    'halt',
    'identify',
    'issueStanding',
    'memory',
    'openSession',
    'permits',
    'pinTools',
    'read',
    'recordDropped',
    'recordOutcome',
    'recordPassThrough',
    'recordServerAsk',
    'recordServerFault',
    'recordTaskResult',
    'reload',
    'reloadFiles',
    'reopen',
    'report',
    'resolve',
    'resume',
    'revokeMandate',
    'revokeStanding',
    'sessionsAudited',
    'setMission',
    'setObject',
    'stop',
    'takeReport',
    'withdraw',
    'wrap',
  ])
})

describe('the gated fetch', () => {
  it('gives the upstream’s answer, observed and confirmed, and sends the gate’s credential', async () => {
    behaviour = fine
    const response = await post('in', { headers: { authorization: 'Bearer mine', cookie: 'a=b' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('gate-verdict')).toBe('executed')
    expect(((await response.json()) as { state: string }).state).toBe('done')
    const capsule = (await capsules()).at(-1)
    expect(response.headers.get('gate-capsule')).toBe(capsule?.capsule_id)
    expect(capsule?.effect?.status).toBe('confirmed')
    const { head, body } = upstream.requests.at(-1) ?? { head: '', body: '' }
    expect(head).toContain('x-key: the-gate-s-own')
    expect(head).not.toMatch(/authorization|cookie/)
    expect(String(body)).toBe('in')
  })

  it.each(Object.entries(MISBEHAVIOURS).filter(([name]) => !name.includes('early')))(
    'is not fooled: %s',
    async (_, { serve, complete }) => {
      behaviour = serve
      const before = (await capsules()).length
      const response = await post('x')
      await response.arrayBuffer()
      const fresh = (await capsules()).slice(before)
      expect(fresh).toHaveLength(1)
      if (complete === 'yes') expect(fresh[0]?.effect?.status).toMatch(/^(confirmed|failed)$/)
      else {
        expect(fresh[0]?.effect?.status ?? 'none').toMatch(/^(none|dispatched)$/)
        expect([502, 503, 504]).toContain(response.status)
      }
    },
  )

  it('refuses, on record, an origin that is no upstream of this gate', async () => {
    const before = (await capsules()).length
    const response = await gate.fetch('http://127.0.0.1:1/read', { method: 'POST', ...as })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'tool_unknown', dispatched: false })
    expect(await capsules()).toHaveLength(before + 1)
  })

  it('streams what is too large to hold, and ends it only with a capsule', async () => {
    const large = 'z'.repeat(5_000_000)
    behaviour = answering(respond('200 OK', large))
    const before = (await capsules()).length
    const response = await post('')
    expect(await response.text()).toBe(large)
    expect((await capsules()).length).toBe(before + 1)
    expect((await capsules()).at(-1)?.effect?.status).toBe('confirmed')
  })

  it('a stream that is cut errors, and is never confirmed', async () => {
    behaviour = async (peer) => {
      await peer.request()
      await peer.write(respond('200 OK', 'z'.repeat(3_000_000)).slice(0, 2_000_000))
      peer.fin()
    }
    const response = await post('')
    await expect(response.text()).rejects.toThrow()
    expect((await capsules()).at(-1)?.effect?.status).toBe('dispatched')
  })

  it('a caller that gives up is let go, and what was sent is observed to its end', async () => {
    const giveUp = new AbortController()
    let release: () => void = () => undefined
    const mayAnswer = new Promise<void>((resolve) => {
      release = resolve
    })
    behaviour = async (peer) => {
      await peer.request()
      giveUp.abort()
      await mayAnswer
      await peer.write(respond('200 OK', '{}'))
    }
    const written = new Promise<Capsule>((resolve) => {
      const stop = gate.read.subscribe((line) => {
        if (line.type !== 'CAPSULE') return
        stop()
        resolve(line.capsule as Capsule)
      })
    })
    await expect(post('', { signal: giveUp.signal })).rejects.toMatchObject({ name: 'AbortError' })
    release()
    expect((await written).effect?.status).toBe('confirmed')
  })

  it('replays for the same Idempotency-Key', async () => {
    behaviour = fine
    const first = await post('once', { idempotencyKey: 'k-1' })
    const sent = upstream.requests.length
    const again = await post('once', { headers: { 'idempotency-key': 'k-1' } })
    expect(again.headers.get('gate-replayed')).toBe('true')
    expect(await again.text()).toBe(await first.text())
    expect(again.headers.get('gate-capsule')).toBe(first.headers.get('gate-capsule'))
    expect(upstream.requests).toHaveLength(sent)
  })

  it('takes a Request, and answers without body are answers', async () => {
    behaviour = answering('HTTP/1.1 204 No Content\r\n\r\n')
    const response = await gate.fetch(new Request(`${upstream.origin}/look/7`), as)
    expect(response.status).toBe(204)
    expect(response.body).toBeNull()
    expect((await capsules()).at(-1)?.effect?.status).toBe('confirmed')
  })
})

describe('opening', () => {
  it('createGate says where a configuration is wrong', async () => {
    writeFileSync(join(folder, 'bad.yaml'), 'upstrem: https://x.example\n')
    const opening = createGate(join(folder, 'bad.yaml'), { env: {} })
    await expect(opening).rejects.toThrow(GateError)
    await expect(opening).rejects.toThrow(/bad\.yaml:1:1.*upstrem/)
  })

  it('the middleware opens a gate from a configuration, and refuses all while there is none', async () => {
    const env = { GATE_DATA_DIR: JSON.stringify(join(folder, 'other')), UPSTREAM_KEY: 'k' }
    const loaded = loadConfig(join(folder, 'gate.yaml'), env)
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const broken = middleware({ ...loaded.config, policies: join(folder, 'nowhere') })
    await expect(broken.ready).rejects.toThrow()
    const working = middleware(loaded.config)
    const app = express()
    app.use('/broken', broken as never)
    app.use('/working', working as never)
    app.use((_req, res) => {
      res.end('reached')
    })
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    const refused = await fetch(`http://127.0.0.1:${port}/broken/look/7`)
    expect(refused.status).toBe(503)
    expect(await refused.json()).toMatchObject({ code: 'record_unavailable' })
    const judged = await fetch(`http://127.0.0.1:${port}/working/look/7`)
    expect(judged.status).toBe(401)
    server.close()
    server.closeAllConnections()
    await (await working.ready).close()
  })
})
