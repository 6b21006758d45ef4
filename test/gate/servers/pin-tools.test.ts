import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { fromUtf8 } from '../../../src/core/bytes/text.js'
import { verifyLedger } from '../../../src/verify.js'
import { fakeTime, tool } from '../../support/approvals.js'
import { describedTool } from '../../support/manifests.js'
import type { Rig } from '../../support/rig.js'
import { called, filesGate, linesOf, POISONED, REMOVE, WRITE } from './files-server.js'

let at: Rig
beforeEach(async () => {
  at = await filesGate()
})
afterEach(() => at.close())

const PIN_LINES = ['TOOLS_PINNED', 'TOOL_CHANGED', 'TOOL_ACCEPTED']
const pinLines = () => linesOf(at, ...PIN_LINES)
const pin = (name = 'write') => at.gate.read.pin('files', name)
const generation = (): number => at.gate.read.judges().generation

describe('a listing', () => {
  it('pins what it describes for the first time, in one signed line, with the documents', async () => {
    await at.gate.pinTools('files', [WRITE, REMOVE])
    expect(await pinLines()).toMatchObject([
      {
        type: 'TOOLS_PINNED',
        server: 'files',
        tools: [
          { tool: 'write', definition: WRITE.digest },
          { tool: 'remove', definition: REMOVE.digest },
        ],
        sig: expect.any(String),
      },
    ])
    expect(await pin()).toEqual({
      server: 'files',
      tool: 'write',
      definition: WRITE.digest,
      changed: null,
    })
    for (const { digest, document } of [WRITE, REMOVE]) {
      const kept = await at.gate.read.publicDocument(digest)
      expect(fromUtf8(kept ?? new Uint8Array())).toBe(document)
    }
  })

  it('that says the same again writes nothing, and stops no call', async () => {
    await at.gate.pinTools('files', [WRITE, REMOVE])
    const before = [(await at.lines()).length, generation()]
    for (const same of [[WRITE, REMOVE], [REMOVE], [WRITE, WRITE], []]) {
      await at.gate.pinTools('files', same)
    }
    expect([(await at.lines()).length, generation()]).toEqual(before)
  })

  it('pins tools that come later in a line of their own', async () => {
    await at.gate.pinTools('files', [WRITE])
    await at.gate.pinTools('files', [WRITE, REMOVE])
    expect(await pinLines()).toMatchObject([
      { tools: [{ tool: 'write' }] },
      { tools: [{ tool: 'remove' }] },
    ])
  })

  it('keeps servers apart that have tools of one name', async () => {
    await at.gate.pinTools('files', [WRITE])
    await at.gate.pinTools('other', [POISONED])
    expect(await pin()).toMatchObject({ definition: WRITE.digest, changed: null })
    expect(await at.gate.read.pin('other', 'write')).toMatchObject({ definition: POISONED.digest })
  })

  it('with another description is a change: once for each, not for each listing', async () => {
    await at.gate.pinTools('files', [WRITE])
    const before = generation()
    for (let i = 0; i < 3; i++) await at.gate.pinTools('files', [POISONED])
    expect(generation()).toBe(before + 1)
    const other = describedTool('write', 'Writes any file.')
    await at.gate.pinTools('files', [other])
    expect(await pinLines()).toMatchObject([
      { type: 'TOOLS_PINNED' },
      { type: 'TOOL_CHANGED', tool: 'write', pinned: WRITE.digest, seen: POISONED.digest },
      { type: 'TOOL_CHANGED', tool: 'write', pinned: WRITE.digest, seen: other.digest },
    ])
    expect(await pin()).toMatchObject({ definition: WRITE.digest, changed: other.digest })
    expect(at.reports.filter(({ event }) => event === 'tool_changed')).toHaveLength(2)
    expect(await at.gate.read.publicDocument(POISONED.digest)).not.toBeNull()
  })

  it('that describes the tool as before lifts the refusal, and the line says so', async () => {
    await at.gate.pinTools('files', [WRITE])
    await at.gate.pinTools('files', [POISONED])
    await at.gate.pinTools('files', [WRITE])
    expect((await pinLines()).at(-1)).toMatchObject({
      type: 'TOOL_CHANGED',
      pinned: WRITE.digest,
      seen: WRITE.digest,
    })
    expect(await pin()).toMatchObject({ definition: WRITE.digest, changed: null })
  })

  it.each([
    ['first as pinned', [WRITE, POISONED]],
    ['last as pinned', [POISONED, WRITE]],
  ])('that describes a pinned tool twice, %s, is a change', async (_, listed) => {
    await at.gate.pinTools('files', [WRITE])
    for (let i = 0; i < 2; i++) await at.gate.pinTools('files', listed)
    expect(await pin()).toMatchObject({ definition: WRITE.digest, changed: POISONED.digest })
    expect(await pinLines()).toHaveLength(2)
  })

  it('that describes a new tool twice pins the first, and refuses it at once', async () => {
    await at.gate.pinTools('files', [WRITE, POISONED])
    expect(await pin()).toMatchObject({ definition: WRITE.digest, changed: POISONED.digest })
  })

  it('is refused whole where the document is not that of its digest, and nothing is recorded', async () => {
    const forged = { ...POISONED, digest: WRITE.digest }
    await expect(at.gate.pinTools('files', [REMOVE, forged])).rejects.toThrow(/not those of/)
    expect([await pinLines(), await at.gate.read.pins()]).toEqual([[], []])
    // It held nothing up: the next one goes through.
    await at.gate.pinTools('files', [WRITE])
    expect(await pin()).not.toBeNull()
  })

  it('leaves lines that verify, and what a restart knows', async () => {
    await at.gate.pinTools('files', [WRITE, REMOVE])
    await at.gate.pinTools('files', [POISONED])
    const known = await at.gate.read.pins()
    at = await at.restart()
    expect(await at.gate.read.pins()).toEqual(known)
    const keys = at.gate.read.keys()
    const text = `${(await at.lines()).map((line) => JSON.stringify(line)).join('\n')}\n`
    const { journal } = verifyLedger(new TextEncoder().encode(text), { keys, crypto: nodeCrypto })
    expect(journal).toMatchObject({ status: 'valid' })
  })
})

describe('a server that lists without end', () => {
  const many = (count: number, from = 0) =>
    Array.from({ length: count }, (_, i) => describedTool(`t${from + i}`, 'One of many.'))

  it('has a thousand tools pinned and no more; those it has serve on and are watched on', async () => {
    await at.gate.pinTools('files', [WRITE, ...many(999)])
    const more = at.gate.pinTools('files', [POISONED, ...many(2, 999)])
    await expect(more).rejects.toMatchObject({ code: 'tools_unpinnable' })
    expect(await at.gate.read.pins()).toHaveLength(1000)
    // What it changed in the same listing is not lost.
    expect(await pin()).toMatchObject({ changed: POISONED.digest })
    await at.gate.pinTools('files', [WRITE, ...many(999)])
    await at.gate.pinTools('other', many(1))
  })

  it.each(['', 'x'.repeat(257), 'half \ud800'])('cannot name a tool %j', async (name) => {
    const listed = { ...describedTool('t', 'A tool.'), tool: name }
    const refused = at.gate.pinTools('files', [WRITE, listed])
    await expect(refused).rejects.toMatchObject({ code: 'tools_unpinnable' })
    expect(await at.gate.read.pins()).toEqual([])
  })

  it.each(['a\nb', '../../etc/passwd', '__proto__', '\u202egnp', 'x'.repeat(256), '*'])(
    'may name one %j: it is a name and nothing else',
    async (name) => {
      await at.gate.pinTools('files', [describedTool(name, 'A tool.')])
      at = await at.restart()
      expect(await at.gate.read.pin('files', name)).not.toBeNull()
      const published = readdirSync(join(at.dir, 'data', 'evidence', 'public'))
      expect(published.filter((file) => !/^[0-9a-f]{64}$/.test(file))).toEqual([])
    },
  )

  it('and describes a tool anew each time is told so often an hour, and the tool stays refused', async () => {
    await at.close()
    const time = fakeTime()
    at = await filesGate({ clock: time.clock, timer: time.timer })
    await at.gate.pinTools('files', [WRITE])
    // The first makes it refused; five hundred more in this hour are told.
    for (let i = 0; i < 520; i++) {
      await at.gate.pinTools('files', [describedTool('write', `It is ${i} o'clock.`)])
    }
    expect(await linesOf(at, 'TOOL_CHANGED')).toHaveLength(501)
    await at.gate.pinTools('files', [WRITE])
    expect((await pin())?.changed).not.toBeNull()
    // A line that is durable after all before it.
    await at.gate.recordServerAsk({ server: 'files', method: 'ping', agent: 'bot', passed: true })
    expect(await linesOf(at, 'SERVER_FAULT')).toMatchObject([
      { fault: 'tools_unsettled', count: 1 },
    ])
    time.advance(3600)
    await at.gate.pinTools('files', [WRITE])
    expect((await pin())?.changed).toBeNull()
    // Whatever it did before: that a tool changes is told at once.
    await at.gate.pinTools('files', [POISONED])
    expect(await pin()).toMatchObject({ changed: POISONED.digest })
  })
})

describe('many listings at once', () => {
  it('pin each tool once, to a description that was listed', async () => {
    const listing = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        words: fc.constantFrom('One.', 'Another.', 'A third.'),
      }),
      { maxLength: 5 },
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(listing, { minLength: 2, maxLength: 6 }), async (listings) => {
        const server = `s${++run}`
        const listed = listings.map((tools) =>
          tools.map(({ name, words }) => describedTool(name, words)),
        )
        await Promise.all(listed.map((tools) => at.gate.pinTools(server, tools)))
        const lines = (await pinLines()).filter((line) => line.server === server)
        const pinned = lines.flatMap((line) => (line.type === 'TOOLS_PINNED' ? line.tools : []))
        const names = (pinned as { tool: string }[]).map(({ tool }) => tool)
        const digests = new Map<string, Set<string>>()
        for (const { tool, digest } of listed.flat()) {
          digests.set(tool, (digests.get(tool) ?? new Set()).add(digest))
        }
        expect(names.sort()).toEqual([...digests.keys()].sort())
        for (const name of names) {
          const pin = await at.gate.read.pin(server, name)
          const seen = digests.get(name) ?? new Set()
          expect(seen).toContain(pin?.definition)
          expect(pin?.changed === null || seen.has(pin?.changed ?? '')).toBe(true)
          if (seen.size === 1) expect(pin?.changed).toBeNull()
        }
      }),
      { numRuns: 30 },
    )
  })
})

describe('a call that is about to be sent', () => {
  it('is not sent when the tool changes after it was judged', async () => {
    await at.close()
    let turn = async (): Promise<void> => undefined
    at = await filesGate({
      seam: (name) => (name === 'before_first_byte' ? turn() : undefined),
    })
    await at.gate.pinTools('files', [WRITE])
    turn = () => at.gate.pinTools('files', [POISONED])
    const { sent, dispatch } = tool()
    const answer = await at.gate.govern(called(WRITE), dispatch)
    expect([answer, sent]).toMatchObject([{ code: 'judgement_stale' }, []])
  })

  it('is sent when others list the same as before', async () => {
    await at.close()
    let turn = async (): Promise<void> => undefined
    at = await filesGate({
      seam: (name) => (name === 'before_first_byte' ? turn() : undefined),
    })
    await at.gate.pinTools('files', [WRITE])
    turn = () => at.gate.pinTools('files', [WRITE, REMOVE])
    const { sent, dispatch } = tool()
    expect(await at.gate.govern(called(WRITE), dispatch)).toMatchObject({ code: 'executed' })
    expect(sent).toHaveLength(1)
  })
})
