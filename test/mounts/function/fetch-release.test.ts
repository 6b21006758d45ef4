import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { DEFAULT_MEMORY } from '../../../src/gate/memory.js'
import { createGate, type EmbeddedGate } from '../../../src/index.js'
import { responseOutlet } from '../../../src/mounts/function/outlet.js'
import { type Behaviour, type RawUpstream, rawUpstream } from '../../support/raw-upstream.js'
import { fine } from '../../support/verdict-scenarios.js'

/** How the gated fetch lets an answer out (DESIGN §3 "Release"). */
const MANIFEST = `id: com.acme.raw
tools:
  look: {match: 'GET /look/{id}'}
  kept: {match: 'GET /kept/{id}', hold_response: true}
`
const POLICY = `@id("all") permit (principal == Agent::"worker", action, resource)
unless { action == Action::"dev.capsulegate.canary" };`
let folder: string
let upstream: RawUpstream
let behaviour: Behaviour = fine
let gate: EmbeddedGate
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-fetch-'))
  upstream = await rawUpstream((peer) => behaviour(peer))
  for (const [path, text] of [
    ['manifests/raw.yaml', MANIFEST],
    ['policies/raw.cedar', POLICY],
    ['gate.yaml', `upstream: ${upstream.origin}\n`],
  ] as const) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  gate = await createGate(join(folder, 'gate.yaml'), { env: {} })
})
afterAll(async () => {
  await gate.close()
  await upstream.close()
  rmSync(folder, { recursive: true })
})
const ask = (path: string): Promise<Response> =>
  gate.fetch(`${upstream.origin}${path}`, { agent: 'worker' })

async function effects(): Promise<unknown[]> {
  const out: unknown[] = []
  for await (const line of gate.read.lines(1)) {
    if (line.type === 'CAPSULE')
      out.push((line.capsule as { effect?: { status?: unknown } }).effect?.status)
  }
  return out
}
/** What the next capsule says of its effect. */
const written = (): Promise<unknown> =>
  new Promise((resolve) => {
    const stop = gate.read.subscribe((line) => {
      if (line.type !== 'CAPSULE') return
      stop()
      resolve((line.capsule as { effect?: { status?: unknown } }).effect?.status)
    })
  })
/** All that may be held at once can be set aside again: nothing was kept. */
function expectNothingHeld(): void {
  const all = gate.memory.hold(DEFAULT_MEMORY.heldBytes)
  expect(all).not.toBeNull()
  all?.letGo()
}
const once =
  (...parts: readonly (string | Uint8Array)[]): Behaviour =>
  async (peer) => {
    await peer.request()
    for (const part of parts) await peer.write(part)
  }

describe('an answer that must be held', () => {
  const MIB = 1024 * 1024

  it('is held whole, whatever the hold limit', async () => {
    const body = Buffer.alloc(3 * MIB, 'k')
    behaviour = once(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`, body)
    const response = await ask('/kept/1')
    // Known only when the capsule is written: the answer was not streamed.
    expect(response.headers.get('gate-verdict')).toBe('executed')
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true)
    expectNothingHeld()
  })

  it.each([
    ['of unknown length', 'transfer-encoding: chunked', true],
    ['of declared length', `content-length: ${65 * MIB}`, false],
  ])(
    'beyond the largest %s is observed to its end and not delivered',
    async (_, field, chunked) => {
      const piece = Buffer.alloc(MIB, 'x')
      behaviour = async (peer) => {
        await peer.request()
        await peer.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`)
        for (let i = 0; i < 65; i++) {
          if (chunked) await peer.write(`${MIB.toString(16)}\r\n`)
          await peer.write(piece)
          if (chunked) await peer.write('\r\n')
        }
        if (chunked) await peer.write('0\r\n\r\n')
      }
      await expect(ask('/kept/2')).rejects.toThrow(TypeError)
      expect((await effects()).at(-1)).toBe('confirmed')
      expectNothingHeld()
    },
  )
})

describe('an answer that streams', () => {
  it('goes on when one read brought many pieces to a slow reader', async () => {
    const events = ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n', 'data: 4\n\n']
    const chunks = events.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`)
    let more: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      more = resolve
    })
    behaviour = async (peer) => {
      await peer.request()
      await peer.write(
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunks.slice(0, 3).join('')}`,
      )
      await asked
      await peer.write(`${chunks[3]}0\r\n\r\n`)
    }
    const response = await ask('/look/3')
    more()
    expect(await response.text()).toBe(events.join(''))
    expect((await effects()).at(-1)).toBe('confirmed')
    expectNothingHeld()
  })

  it('gives its last octet only when its capsule is written', async () => {
    const body = Buffer.alloc(3_000_000, 'z')
    behaviour = once(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`, body)
    const before = (await effects()).length
    const response = await ask('/look/4')
    let size = 0
    for await (const piece of response.body ?? []) {
      size += piece.length
      if (size >= body.length) expect(await effects()).toHaveLength(before + 1)
    }
    expect(size).toBe(body.length)
  })

  it('whose reader leaves is observed to its end; an event stream is cut', async () => {
    const body = Buffer.alloc(3_000_000, 'z')
    behaviour = once(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`, body)
    const whole = written()
    await (await ask('/look/5')).body?.cancel()
    expect(await whole).toBe('confirmed')
    behaviour = once(
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n3\r\n:\n\n\r\n',
    )
    const cut = written()
    await (await ask('/look/6')).body?.cancel()
    expect(await cut).toBe('dispatched')
    expectNothingHeld()
  })
})

it('a reader that takes nothing is given up; what was ended in time stays whole', async () => {
  const head = { status: 200, headers: [], framing: { kind: 'chunked' } } as const
  const end = { recorded: { actionId: 'a', capsuleId: 'c', verdict: 'executed' }, trailers: [] }
  const slow = responseOutlet(20)
  slow.start(head, false)
  const taken = slow.write(Buffer.from('read late'))
  slow.end(head, null, end)
  await taken
  const stalled = responseOutlet(20)
  stalled.start(head, false)
  let left = false
  stalled.whenLeft(() => {
    left = true
  })
  await stalled.write(Buffer.from('never read'))
  expect([stalled.gone(), left]).toEqual([true, true])
  await expect((await stalled.response).text()).rejects.toThrow(TypeError)
  // Its time ran out before that of the other.
  expect(await (await slow.response).text()).toBe('read late')
})

it('a stream that no Response can carry rejects, and is recorded', async () => {
  behaviour = once(
    'HTTP/1.1 205 Reset\r\ncontent-type: text/event-stream\r\ncontent-length: 3\r\n\r\n:\n\n',
  )
  const recorded = written()
  await expect(ask('/look/7')).rejects.toThrow(TypeError)
  expect(await recorded).toBe('confirmed')
  expectNothingHeld()
})
