import { describe, expect, it } from '@jest/globals'
import { createEmbeddedState } from '../../../src/adapters/state/embedded/state.js'
import { type Line, readLine } from '../../../src/core/journal/vocabulary.js'
import { haltFor } from '../../../src/gate/operate/halt.js'
import { claim, request, sha, stateContract } from '../../contract/state.js'
import { rawLine } from '../../support/lines.js'
import { openItems } from '../../support/open-items.js'
import { TENANT } from '../../support/tenant.js'
import { capsule, dispatched, lineWriter } from './lines.js'

stateContract('embedded', async () => {
  const state = createEmbeddedState({ tenant: TENANT })
  return { state, fold: state.apply, close: async () => {} }
})

const T0 = Date.parse('2026-03-01T12:00:00.000Z')
const HOUR_MS = 3_600_000
const fold = (lines: readonly Line[], keyTtlSeconds?: number) => {
  const state = createEmbeddedState({
    tenant: TENANT,
    ...(keyTtlSeconds === undefined ? {} : { keyTtlSeconds }),
  })
  for (const line of lines) state.apply(line)
  return state
}

describe('keys per agent', () => {
  const completed = (ids: readonly string[]): Line[] => {
    const line = lineWriter(T0)
    return ids.flatMap((id) => [
      line('ACTION_DISPATCHED', dispatched(id, { key: sha(id) })),
      line('CAPSULE', capsule(id, 'executed', 'confirmed')),
    ])
  }
  const capped = () => createEmbeddedState({ tenant: TENANT, keysPerAgent: 2, keyTtlSeconds: 3600 })

  it('are counted from lines and from a dump, and their time frees them', async () => {
    const folded = capped()
    for (const line of completed(['a', 'b'])) folded.apply(line)
    const loaded = capped()
    loaded.load(folded.dump())
    for (const state of [folded, loaded]) {
      const fresh = { key: sha('c') }
      expect((await state.reserve(request('r1', fresh))).kind).toBe('keys_exhausted')
      expect((await state.reserve(request('r2', { key: sha('a') }))).kind).toBe('key')
      expect((await state.reserve(request('r3', { ...fresh, agent: 'other' }))).kind).toBe(
        'reserved',
      )
      const later = { ...fresh, at: T0 + 2 * HOUR_MS }
      expect((await state.reserve(request('r4', later))).kind).toBe('reserved')
    }
  })

  it('one given back makes room', async () => {
    const state = capped()
    for (const id of ['a', 'b']) await state.reserve(request(id, { key: sha(id) }))
    expect((await state.reserve(request('c', { key: sha('c') }))).kind).toBe('keys_exhausted')
    await state.settle('a', { kind: 'release' })
    expect((await state.reserve(request('d', { key: sha('c') }))).kind).toBe('reserved')
  })
})

describe('keys, from lines alone', () => {
  const key = sha('k')
  const stateOf = async (verdict: string, status: string | undefined, settles?: object) => {
    const line = lineWriter(T0)
    const state = fold([
      line('ACTION_DISPATCHED', dispatched('a', { key })),
      line('CAPSULE', { ...capsule('a', verdict, status), ...(settles ? { settles } : {}) }),
    ])
    expect(state.orphans()).toEqual([])
    return (await state.keyState('acme', 'bot', key))?.state ?? null
  }

  it.each([
    ['executed', 'confirmed', 'completed'],
    ['executed', 'failed', 'completed'],
    ['errored', 'failed', 'completed'],
    ['errored', 'dispatched', 'unknown'],
    ['timeout', 'dispatched', 'unknown'],
    ['timeout', 'planned', null],
    ['engine_failure', undefined, null],
    ['denied', undefined, null],
  ])('%s with effect %s leaves the key %s', async (verdict, status, expected) => {
    expect(await stateOf(verdict, status)).toBe(expected)
  })

  it.each([
    ['executed', 'confirmed', 'commit', false, 'completed'],
    ['errored', 'failed', 'commit', true, 'completed'],
    ['errored', 'failed', 'commit', false, 'unknown'],
    ['errored', 'dispatched', 'commit', false, 'unknown'],
    ['timeout', undefined, 'release', false, null],
  ])('%s/%s settled by %s, replayable %s: %s', async (verdict, status, outcome, replayable, is) => {
    expect(await stateOf(verdict, status, { action_id: 'a', outcome, replayable })).toBe(is)
  })

  it('holds a dispatched key across a restart until the recovered capsule makes it unknown', async () => {
    const line = lineWriter(T0)
    const lines = [line('ACTION_DISPATCHED', dispatched('a', { key }))]
    const state = fold(lines)
    expect(state.orphans()).toMatchObject([{ action_id: 'a', tool: 'create_refund', seq: 1 }])
    expect(await state.reserve(request('b', { key }))).toMatchObject({
      kind: 'key',
      holder: { state: 'in_flight', actionId: 'a' },
    })
    state.apply(line('CAPSULE', capsule('a', 'errored', 'dispatched')))
    expect(state.orphans()).toEqual([])
    expect(await state.reserve(request('b', { key }))).toMatchObject({
      holder: { state: 'unknown' },
    })
  })

  it('forgets a concluded key when its time is over, by line time, but never one in flight', async () => {
    const line = lineWriter(T0)
    const state = fold(
      [
        line('ACTION_DISPATCHED', dispatched('a', { key })),
        line('CAPSULE', capsule('a', 'executed', 'confirmed')),
        line('ACTION_DISPATCHED', dispatched('b', { key: sha('other') })),
      ],
      60,
    )
    const at = (ms: number, id: string, of: string) => request(id, { key: of, at: T0 + ms })
    expect((await state.reserve(at(59_999, 'c', key))).kind).toBe('key')
    expect((await state.reserve(at(60_001, 'd', key))).kind).toBe('reserved')
    expect((await state.reserve(at(9e9, 'e', sha('other')))).kind).toBe('key')
    // The reader's clock ran ahead; the fold still knows the key until a line's time passes it.
    expect(JSON.stringify(state.dump())).toContain('completed')
    line.wait(60_001)
    state.apply(line('REPLAYED', { action_id: 'a' }))
    expect(JSON.stringify(state.dump())).not.toContain('completed')
  })

  it('throws for a key that is not a digest, since no line could ever settle it', async () => {
    await expect(
      createEmbeddedState({ tenant: TENANT }).reserve(request('a', { key: 'raw' })),
    ).rejects.toThrow(/SHA-256/)
  })
})

describe('reservations and lines', () => {
  const budgets = [claim({ amount: '10' })]

  it('counts a reservation once when its own line is applied', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const line = lineWriter(T0)
    await state.reserve(request('a', { budgets: [claim({ amount: '4' })] }))
    state.apply(line('ACTION_DISPATCHED', dispatched('a', { budgets: [claim({ amount: '4' })] })))
    const next = await state.reserve(request('b', { budgets: [claim({ amount: '4' })] }))
    expect(next).toMatchObject({ kind: 'reserved', readings: [{ prior: '4' }] })
  })

  it('gives back on the CAPSULE line, not on settle, once the dispatch is in the journal', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const line = lineWriter(T0)
    await state.reserve(request('a', { budgets }))
    state.apply(line('ACTION_DISPATCHED', dispatched('a', { budgets })))
    await state.settle('a', { kind: 'release' })
    expect((await state.reserve(request('b', { budgets }))).kind).toBe('budget')
    const settles = { action_id: 'a', outcome: 'release', replayable: false }
    state.apply(line('CAPSULE', { ...capsule('a', 'engine_failure'), settles }))
    expect((await state.reserve(request('c', { budgets }))).kind).toBe('reserved')
  })

  it('leaves reservations out of a dump: after a crash they were never made', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const before = JSON.stringify(state.dump())
    await state.reserve(request('a', { budgets, key: sha('k') }))
    expect(JSON.stringify(state.dump())).toBe(before)
  })

  it('refuses to reserve one action twice, or to fold its dispatch twice', async () => {
    const state = createEmbeddedState({ tenant: TENANT })
    const line = lineWriter(T0)
    await state.reserve(request('a'))
    await expect(state.reserve(request('a'))).rejects.toThrow(/reserved already/)
    state.apply(line('ACTION_DISPATCHED', dispatched('a')))
    await expect(state.reserve(request('a'))).rejects.toThrow(/reserved already/)
    expect(() => state.apply(line('ACTION_DISPATCHED', dispatched('a')))).toThrow(/line 2/)
  })

  it('names line and member when a line lacks what its type must have', () => {
    const line = lineWriter(T0)
    const state = createEmbeddedState({ tenant: TENANT })
    const bare = (type: string, members: object) => {
      const prev = '0'.repeat(64)
      const at = new Date(T0).toISOString()
      const read = readLine({ v: 1, origin: 'test', seq: 1, prev, at, type, ...members })
      if (read !== null) state.apply(read)
    }
    for (const [type, members] of [
      ['ACTION_DISPATCHED', { operator: 'x' }],
      ['CAPSULE', { capsule: { action_id: 'a' } }],
      ['HALT', { scope: { kind: 'agent' } }],
      ['GRANT_ISSUED', {}],
      ['APPROVAL_OPENED', { approval_id: 'a' }],
      ['APPROVAL_VOTED', {}],
      ['APPROVAL_REMINDER', { approval_id: 'a' }],
    ] as const) {
      expect(() => bare(type, members)).toThrow(/^journal line \d+ \(/)
    }
    expect(() => state.apply({ ...line('REPLAYED', {}), at: 'yesterday' })).toThrow(/no time/)
  })

  it('ignores line types it does not know', () => {
    const line = lineWriter(T0)
    const state = createEmbeddedState({ tenant: TENANT })
    state.apply(line('REPLAYED', {}))
    const before = state.dump()
    const other = rawLine('SOMETHING_ELSE', { anything: [1] }, { seq: 2 })
    expect(readLine(other)).toBeNull()
    expect(state.dump()).toEqual(before)
    expect(before).toMatchObject({ at: T0, actions: [] })
  })
})

describe('grants', () => {
  const grant = (over: object = {}) => ({
    grant: 'g',
    agent: 'bot',
    request_digest: sha('request'),
    policy_digest: sha('p'),
    manifest_digest: sha('m'),
    expires_at: new Date(T0 + HOUR_MS).toISOString(),
    uses: 1,
    ...over,
  })
  const holding = (over: object = {}) => {
    const line = lineWriter(T0)
    return { line, state: fold([line('GRANT_ISSUED', grant(over))]) }
  }
  const use = (id: string, over: object = {}) => request(id, { grant: 'g', ...over })

  it('is spent at reserve, once, even by many at a time', async () => {
    const { state } = holding()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => state.reserve(use(`a${i}`))),
    )
    expect(answers.filter(({ kind }) => kind === 'reserved')).toHaveLength(1)
    expect(answers[1]).toEqual({ kind: 'grant', why: 'spent' })
  })

  it.each([
    ['another agent', { agent: 'other' }, 'mismatch'],
    ['another request', { requestDigest: sha('other') }, 'mismatch'],
    ['the instant of expiry', { at: T0 + HOUR_MS }, 'expired'],
    ['another grant', { grant: 'h' }, 'unknown'],
  ])('refuses %s', async (_, over, why) => {
    expect(await holding().state.reserve(use('a', over))).toEqual({ kind: 'grant', why })
  })

  it('refuses a grant whose expiry cannot be read', () => {
    expect(() => holding({ expires_at: 'soon' })).toThrow(
      'journal line 1 (GRANT_ISSUED): expires_at is not an RFC 3339 time in UTC',
    )
  })

  it('takes any request of its agent when it is standing', async () => {
    const { state } = holding({ standing: true, uses: 2 })
    const other = { requestDigest: sha('other') }
    expect((await state.reserve(use('a', other))).kind).toBe('reserved')
    expect((await state.reserve(use('b'))).kind).toBe('reserved')
    expect(await state.reserve(use('c'))).toEqual({ kind: 'grant', why: 'spent' })
  })

  it('comes back on release, before and after its dispatch line; stays spent on commit', async () => {
    const { state, line } = holding()
    await state.reserve(use('a'))
    await state.settle('a', { kind: 'release' })
    await state.reserve(use('b'))
    state.apply(line('ACTION_DISPATCHED', dispatched('b', { grant: 'g' })))
    expect((await state.reserve(use('c'))).kind).toBe('grant')
    state.apply(line('CAPSULE', capsule('b', 'engine_failure')))
    expect((await state.reserve(use('c'))).kind).toBe('reserved')
    state.apply(line('ACTION_DISPATCHED', dispatched('c', { grant: 'g' })))
    state.apply(line('CAPSULE', capsule('c', 'executed', 'confirmed')))
    expect(await state.reserve(use('d'))).toEqual({ kind: 'grant', why: 'spent' })
  })

  it('is unknown once revoked, and an action in flight under it still concludes', async () => {
    const { state, line } = holding()
    await state.reserve(use('a'))
    state.apply(line('ACTION_DISPATCHED', dispatched('a', { grant: 'g' })))
    state.apply(line('GRANT_REVOKED', { grant: 'g' }))
    state.apply(line('CAPSULE', capsule('a', 'engine_failure')))
    expect(await state.reserve(use('b'))).toEqual({ kind: 'grant', why: 'unknown' })
    expect(state.dump()).toMatchObject({ grants: [] })
  })
})

describe('open items, halts and configuration', () => {
  it('opens for each open class, and closes for whatever supersedes', async () => {
    const line = lineWriter(T0)
    const open = ['deferred', 'needs_decision', 'hitl_dispatched', 'escalated', 'blocked']
    const shut = ['executed', 'denied', 'timeout', 'errored', 'engine_failure', 'expired']
    const state = fold(
      [...open, ...shut, 'resolved'].map((verdict) => line('CAPSULE', capsule(verdict, verdict))),
    )
    expect((await openItems(state)).map(({ verdict_class }) => verdict_class)).toEqual(open)
    const over = (parent: string, by: string, verdict: string) =>
      line('CAPSULE', capsule(by, verdict, undefined, parent))
    state.apply(over('hitl_dispatched', 'r1', 'resolved'))
    state.apply(over('deferred', 'e1', 'escalated'))
    // A later one over the same parent changes nothing about the parent (seed §5.4.4).
    state.apply(over('hitl_dispatched', 'r2', 'executed'))
    expect((await openItems(state)).map(({ action_id }) => action_id)).toEqual([
      'needs_decision',
      'escalated',
      'blocked',
      'e1',
    ])
  })

  it('stops exactly what a halt names, until it is resumed', () => {
    const line = lineWriter(T0)
    const state = createEmbeddedState({ tenant: TENANT })
    const call = { operator: 'acme', agent: 'bot', tool: 'pay' }
    for (const kind of ['operator', 'agent', 'tool'] as const) {
      state.apply(line('HALT', { scope: { kind, name: `not-${call[kind]}` } }))
      expect(haltFor(state.halts(), call)).toBeNull()
      state.apply(line('HALT', { scope: { kind, name: call[kind] } }))
      expect(haltFor(state.halts(), call)).toEqual({ kind, name: call[kind] })
      state.apply(line('RESUME', { scope: { kind, name: call[kind] } }))
      expect(haltFor(state.halts(), call)).toBeNull()
    }
    state.apply(line('HALT', { scope: { kind: 'all' } }))
    expect(haltFor(state.halts(), call)).toEqual({ kind: 'all' })
    expect(state.halts()).toHaveLength(4)
  })

  it('keeps the newest configuration', () => {
    const line = lineWriter(T0)
    const config = { policy_digest: sha('p'), manifest_digests: [sha('m')], mode: 'enforce' }
    const state = fold([
      line('CONFIG_CHANGED', { ...config, mode: 'observe' }),
      line('CONFIG_CHANGED', config),
    ])
    expect(state.config()).toMatchObject(config)
  })
})

describe('pins', () => {
  it('are none in a dump of before MCP, which is loaded like any other', async () => {
    const line = lineWriter(T0)
    const tools = [{ tool: 'write', definition: sha('d1') }]
    const state = fold([line('TOOLS_PINNED', { server: 'files', tools })])
    const { pins, ...older } = state.dump() as { [name: string]: unknown }
    expect(pins).toHaveLength(1)
    expect(state.load(JSON.parse(JSON.stringify(older)))).toBeNull()
    expect(await state.pins()).toEqual([])
  })
})
