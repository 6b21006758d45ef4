import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import { routed } from '../../support/manifests.js'
import { ask, rawClient } from '../proxy/harness.js'
import { type Express, get, post, type Stand, startApp, VERSIONS } from './harness.js'

const sha256 = (octets: string | Uint8Array): string =>
  createHash('sha256').update(octets).digest('hex')
const BIG = Buffer.alloc(3 * 1024 * 1024 + 17, 'abcdefg')
const folder = mkdtempSync(join(tmpdir(), 'express-files-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'small.txt'), 'a small file')
writeFileSync(join(folder, 'big.bin'), BIG)

type Answering = (req: Request, res: Response) => unknown
/** Ways to answer, and the octets each of them is. */
const WAYS: Readonly<
  Record<string, { answer: Answering; body: string | Buffer; status?: number }>
> = {
  'res.json': { answer: (_, res) => res.json({ ok: true }), body: '{"ok":true}' },
  'res.status().send text': {
    answer: (_, res) => res.status(201).send('made'),
    body: 'made',
    status: 201,
  },
  'res.send of octets': {
    answer: (_, res) => res.send(Buffer.from([0, 255])),
    body: Buffer.from([0, 255]),
  },
  'end alone': { answer: (_, res) => res.end('only'), body: 'only' },
  'end without a word': { answer: (_, res) => res.end(), body: '' },
  'write, write, end': {
    answer(_, res) {
      res.write('one ')
      res.write(Buffer.from('two '))
      res.end('dHdv', 'base64')
    },
    body: 'one two two',
  },
  'writeHead with an object': {
    answer: (_, res) => res.writeHead(202, { 'x-way': 'object' }).end('x'),
    body: 'x',
    status: 202,
  },
  'writeHead with a reason and a flat list': {
    answer: (_, res) => res.writeHead(203, 'Fine', ['x-way', 'flat', 'x-way', 'twice']).end('x'),
    body: 'x',
    status: 203,
  },
  'a buffer that is reused after write': {
    answer(_, res) {
      const buffer = Buffer.from('first')
      res.write(buffer)
      buffer.write('other')
      res.end()
    },
    body: 'first',
  },
  'sendFile, small': {
    answer: (_, res) => res.sendFile(join(folder, 'small.txt')),
    body: 'a small file',
  },
  'sendFile, larger than is held': {
    answer: (_, res) => res.sendFile(join(folder, 'big.bin')),
    body: BIG,
  },
  'a large body at once': { answer: (_, res) => res.end(BIG), body: BIG },
  'a large body in pieces, length unknown': {
    async answer(_, res) {
      for (let at = 0; at < BIG.length; at += 65536) {
        if (!res.write(BIG.subarray(at, at + 65536))) {
          await new Promise((resolve) => res.once('drain', resolve))
        }
      }
      res.end()
    },
    body: BIG,
  },
}

describe.each(VERSIONS)('%s: what the handler wrote is what is recorded and sent', (_, express) => {
  let stand: Stand
  let answer: Answering = () => undefined
  beforeAll(async () => {
    stand = await startApp((guarded) => {
      const app = (express as Express)()
      app.use(guarded)
      app.use((req: Request, res: Response) => answer(req, res))
      return app
    })
  })
  afterAll(() => stand.close())

  it.each(Object.entries(WAYS))('%s', async (_way, { answer: way, body, status = 200 }) => {
    answer = way
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', 'in')))
    expect(result.status).toBe(status)
    expect(result.body.equals(Buffer.from(body))).toBe(true)
    expect(capsules).toHaveLength(1)
    const effect = capsules[0]?.effect
    expect(effect).toMatchObject({ status: 'confirmed', effect_attestation: 'gate_executed' })
    expect(effect?.['dev.capsulegate.response_octets']).toMatchObject({
      digest: sha256(body),
      length: body.length,
      status,
      complete: true,
    })
    if (body.length <= 1024 * 1024) {
      expect(result.headers.get('gate-capsule')).toBe(capsules[0]?.capsule_id)
      expect(result.headers.get('gate-verdict')).toBe('executed')
    }
  })

  it('keeps what writeHead says about headers, repeated ones too', async () => {
    answer = WAYS['writeHead with a reason and a flat list']?.answer ?? answer
    const { result } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(result.headers.get('x-way')).toBe('flat, twice')
    expect(result.text).toContain('203 Fine')
  })

  it('binds JSON bodies as JSON', async () => {
    answer = (_req, res) => res.json({ b: 1, a: 2 })
    const { capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(capsules[0]?.effect?.['dev.capsulegate.response_binding']).toBe('json')
  })

  it('a HEAD has no body, whatever the handler writes', async () => {
    answer = (_req, res) => res.json({ long: 'enough' })
    const { result, capsules } = await stand.after(() => ask(stand.port, get('/look', '', 'HEAD')))
    expect(result.body).toHaveLength(0)
    expect(result.headers.get('content-length')).toBe('17')
    expect(capsules[0]?.effect?.['dev.capsulegate.response_octets']).toMatchObject({ length: 0 })
  })

  it('lets no handler speak with the gate’s voice', async () => {
    answer = (_req, res) =>
      res.set('Gate-Verdict', 'executed').set('Gate-Other', 'x').status(409).end()
    const { result } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(result.headers.get('gate-verdict')).toBe('executed')
    expect(result.headers.get('gate-other')).toBeUndefined()
  })

  it('looks to the handler like any response', async () => {
    const seen: unknown[] = []
    answer = (_req, res) => {
      seen.push(res.headersSent, res.writableEnded)
      res.write('x')
      seen.push(res.headersSent, res.writableEnded)
      expect(() => res.setHeader('late', '1')).toThrow(/headers/i)
      expect(() => res.writeHead(500)).toThrow(/headers/i)
      res.end(() => seen.push('finished'))
      seen.push(res.headersSent, res.writableEnded)
    }
    await stand.after(() => ask(stand.port, post('/run', '')))
    expect(seen).toEqual([false, false, true, false, true, true, 'finished'])
  })

  it('gives Gate-* as trailers to who asks for them when the answer streams', async () => {
    answer = WAYS['a large body in pieces, length unknown']?.answer ?? answer
    const { result, capsules } = await stand.after(() =>
      ask(stand.port, post('/run', '', 'te: trailers\r\n')),
    )
    expect(result.text).toContain(`gate-capsule: ${capsules[0]?.capsule_id}`)
  })

  it('holds everything for HTTP/1.0, which cannot show a truncation', async () => {
    answer = WAYS['a large body in pieces, length unknown']?.answer ?? answer
    const { result } = await stand.after(() =>
      ask(stand.port, post('/run', '').replace('HTTP/1.1', 'HTTP/1.0')),
    )
    expect(result.body.equals(BIG)).toBe(true)
    expect(result.headers.get('gate-verdict')).toBe('executed')
  })
})

describe('the end waits for the capsule', () => {
  const cases: [string, (res: ServerResponse) => void][] = [
    ['a small answer not at all', (res) => res.end('small')],
    [
      'a large one with its length, but for the last octet',
      (res) => {
        res.setHeader('content-length', BIG.length)
        res.end(BIG)
      },
    ],
    [
      'a large one in chunks, but for the zero chunk',
      (res) => {
        res.write(BIG)
        res.end()
      },
    ],
  ]
  it.each(cases)('%s', async (name, answer) => {
    let reached: () => void = () => undefined
    let go: () => void = () => undefined
    const atCapsule = new Promise<void>((resolve) => {
      reached = resolve
    })
    const mayGo = new Promise<void>((resolve) => {
      go = resolve
    })
    let armed = false
    const stand = await startApp((guarded) => (req, res) => guarded(req, res, () => answer(res)), {
      seam: async (seam) => {
        if (seam !== 'before_capsule' || !armed) return
        reached()
        await mayGo
      },
    })
    armed = true
    const client = await rawClient(stand.port)
    client.send(post('/run', ''))
    await atCapsule
    if (name.startsWith('a small')) expect(client.received()).toHaveLength(0)
    else {
      // Everything but the end is there, or on its way.
      await client.until((received) => received.length >= BIG.length - 1)
      const text = client.received().toString('latin1')
      expect(text.endsWith('0\r\n\r\n')).toBe(false)
      if (name.includes('length')) {
        const body = client.received().subarray(text.indexOf('\r\n\r\n') + 4)
        expect(body.length).toBeLessThan(BIG.length)
      }
    }
    go()
    await client.closed()
    expect(client.received().length).toBeGreaterThan(name.startsWith('a small') ? 5 : BIG.length)
    await stand.close()
  })

  it.each(cases)('and without a capsule it never comes: %s', async (name, answer) => {
    const stand = await startApp((guarded) => (req, res) => guarded(req, res, () => answer(res)), {
      through: (gate) => ({
        ...gate,
        async govern(call, dispatch) {
          await dispatch({
            actionId: 'a',
            call: routed(call),
            rule: gate.read.judges().router.byTool.get('run')?.[0]?.rule ?? (undefined as never),
            stillAllowed: () => true,
            saltedDigest: null,
          })
          return {
            kind: 'unrecorded',
            code: 'record_lost',
            status: 502,
            problem: { status: 502, code: 'record_lost' } as never,
            caller: { kind: 'unknown', why: 'test' },
          }
        },
      }),
    })
    const answered = await ask(stand.port, post('/run', ''))
    if (name.startsWith('a small')) {
      expect(answered.status).toBe(502)
      expect(answered.text).not.toContain('small')
    } else {
      expect(answered.text.endsWith('0\r\n\r\n')).toBe(false)
      expect(answered.body.length).toBeLessThan(BIG.length + 1)
    }
    await stand.close()
  })
})

describe('piped answers', () => {
  it('a generator’s stream is only claimed, unless the developer says that it is the handler’s own', async () => {
    for (const [answers, status] of [
      [undefined, 'dispatched'],
      ['relayed', 'dispatched'],
      ['own', 'confirmed'],
    ] as const) {
      const stand = await startApp(
        (guarded) => (req, res) =>
          guarded(req, res, () => void pipeline(Readable.from(['a', 'b']), res)),
        { guard: answers === undefined ? {} : { answers } },
      )
      const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
      expect(result.body.toString()).toBe('ab')
      expect(capsules[0]?.effect?.status).toBe(status)
      expect(capsules[0]?.disposition.verdict_class).toBe('executed')
      await stand.close()
    }
  })

  it('the request itself piped back is the judged request', async () => {
    const stand = await startApp((guarded) => (req, res) => guarded(req, res, () => req.pipe(res)))
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', 'echo')))
    expect(result.body.toString()).toBe('echo')
    expect(capsules[0]?.effect?.status).toBe('confirmed')
    await stand.close()
  })
})
