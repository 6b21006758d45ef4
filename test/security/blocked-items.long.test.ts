import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { KEEP_BLOCKED } from '../../src/adapters/state/embedded/open-items.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import { buildCapsule } from '../../src/core/capsule/build.js'
import { capsuleEntry } from '../../src/core/journal/entry.js'
import { toSign } from '../../src/core/statement/sign.js'
import type { JournalLine } from '../../src/ports/journal.js'
import { type Plane, startPlane } from '../mounts/admin/harness.js'
import { draws } from '../support/draws.js'
import { known } from '../support/lines.js'

/**
 * An agent can have any number of calls blocked. Memory holds the newest of them, the journal all; what
 * is listed and closed does not depend on which of the two an item is in.
 */
const COUNT = KEEP_BLOCKED + draws(KEEP_BLOCKED, 1_000)
const BATCH = 500

async function block(gate: RunningGate, count: number): Promise<string[]> {
  const { journal } = gate.data
  const ids: string[] = []
  for (let done = 0; done < count; done += BATCH) {
    const capsules = Array.from({ length: Math.min(BATCH, count - done) }, () =>
      buildCapsule(
        {
          identity: {
            action_id: randomUUID(),
            action_type: 'decide',
            operator: 'acme',
            developer: 'support-bot@1',
            timestamp: journal.timestamp(),
          },
          verdict: { kind: 'refused', verdict_class: 'blocked' },
          constraints: [
            {
              id: 'com.acme.payments.amount_cap',
              result: 'fail',
              severity: 'high',
              blocking: true,
            },
          ],
          extensions: {
            'dev.capsulegate.policy_digest': 'a'.repeat(64),
            'dev.capsulegate.mode': 'enforce',
          },
        },
        nodeCrypto,
      ),
    )
    await journal.append(
      capsules.map((capsule) =>
        capsuleEntry(toSign(capsule, 'agent_action'), { statement: 'agent_action', capsule }),
      ),
    )
    ids.push(...capsules.map(({ capsule_id }) => capsule_id))
  }
  return ids
}

/** The seed's predicate (§5.4.4) over the journal's own lines, computed apart from the gate's fold. */
function openBy(lines: readonly JournalLine[]): string[] {
  const open = new Set<string>()
  for (const line of lines) {
    if (line.type !== 'CAPSULE') continue
    const { capsule_id, disposition, chain } = line.capsule as {
      capsule_id: string
      disposition: { verdict_class: string }
      chain?: { relation: string; parent_capsule_id: string }
    }
    if (chain?.relation === 'supersedes') open.delete(chain.parent_capsule_id)
    const classes = ['hitl_dispatched', 'deferred', 'escalated', 'needs_decision', 'blocked']
    if (classes.includes(disposition.verdict_class)) open.add(capsule_id)
  }
  return [...open]
}

type Listed = {
  readonly awaiting: readonly { capsule_id: string }[]
  readonly blocked: readonly { capsule_id: string; seq: number }[]
  readonly next_cursor: string | null
}
async function listed(plane: Plane, limit = 1000): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  let last = 0
  do {
    const after: string = cursor === null ? '' : `&cursor=${cursor}`
    const page = await plane.ask('GET', `/v1/open-items?limit=${limit}${after}`)
    const { awaiting, blocked, next_cursor } = page.json<Listed>()
    expect(blocked.length).toBeLessThanOrEqual(limit)
    for (const { seq } of blocked) {
      expect(seq).toBeGreaterThan(last)
      last = seq
    }
    ids.push(...[...awaiting, ...blocked].map(({ capsule_id }) => capsule_id))
    cursor = next_cursor
  } while (cursor !== null)
  return ids
}
const close = async (plane: Plane, capsule_ids: readonly string[]): Promise<string[]> => {
  const answered = await plane.ask('POST', '/v1/open-items/close', {
    body: { capsule_ids, reason: 'swept' },
  })
  return answered.json<{ results: { result: string }[] }>().results.map(({ result }) => result)
}

describe('blocked items', () => {
  let plane: Plane
  let blocked: string[]
  beforeAll(async () => {
    plane = await startPlane({ snapshotEvery: 1_000_000 })
    await plane.refund('250.00')
    blocked = await block(plane.gate, COUNT)
  }, 120_000)
  afterAll(() => plane.close())

  const newest = async (gate: RunningGate) => (await gate.data.state.blocked()).items
  const expectComplete = async (of: Plane): Promise<void> => {
    const lines: JournalLine[] = []
    for await (const line of of.gate.data.journal.lines()) lines.push(line)
    expect((await listed(of)).sort()).toEqual(openBy(lines).sort())
  }

  it('in memory are the newest, of a constant number', async () => {
    expect(await newest(plane.gate)).toHaveLength(KEEP_BLOCKED)
    expect((await newest(plane.gate)).map(({ capsule_id }) => capsule_id)).toEqual(
      blocked.slice(-KEEP_BLOCKED),
    )
  })

  it('are listed all, page by page in ledger order, whether in memory or not', async () => {
    await expectComplete(plane)
  }, 120_000)

  it('that left memory can be closed, once, and are then listed no more', async () => {
    const [first = '', second = ''] = blocked
    expect(await close(plane, [first, second])).toEqual(['closed', 'closed'])
    expect(await close(plane, [first, blocked[2] ?? ''])).toEqual(['not_open', 'closed'])
    const page = (await plane.ask('GET', '/v1/open-items?limit=1')).json<Listed>()
    expect(page.blocked.map(({ capsule_id }) => capsule_id)).toEqual([blocked[3]])
  })

  it('closed at once by two are closed by one', async () => {
    const id = blocked[3] ?? ''
    const other = blocked[4] ?? ''
    const both = await Promise.all([close(plane, [id, other]), close(plane, [id, other])])
    expect(both.map(([result]) => result).filter((result) => result === 'closed')).toHaveLength(1)
  })

  it('are the same after a restart, from a snapshot and from the lines alone', async () => {
    const { state } = plane.gate.data
    const before = await state.blocked()
    const { createEmbeddedState } = await import('../../src/adapters/state/embedded/state.js')
    const { tenant } = plane.gate.data
    const [fromDump, fromLines] = [createEmbeddedState({ tenant }), createEmbeddedState({ tenant })]
    fromDump.load(JSON.parse(JSON.stringify(state.dump())))
    for await (const line of plane.gate.data.journal.lines()) fromLines.apply(known(line))
    for (const again of [fromDump, fromLines]) {
      expect(await again.blocked()).toEqual(before)
    }
  }, 60_000)

  it('are closed in bulk by looking at each once, never at the others', async () => {
    const { state, journal } = plane.gate.data
    const counted = { listed: 0, got: 0, found: 0 }
    const real = {
      blocked: state.blocked,
      awaiting: state.awaiting,
      openItem: state.openItem,
    }
    const find = journal.find
    const counting = {
      blocked: () => {
        counted.listed++
        return real.blocked()
      },
      awaiting: () => {
        counted.listed++
        return real.awaiting()
      },
      openItem: (id: string) => {
        counted.got++
        return real.openItem(id)
      },
    }
    Object.assign(state, counting)
    Object.assign(journal, {
      find: (...asked: Parameters<typeof find>) => {
        counted.found++
        return find(...asked)
      },
    })
    const left = blocked.slice(5)
    try {
      for (let done = 0; done < left.length; done += BATCH) {
        const results = await close(plane, left.slice(done, done + BATCH))
        expect(new Set(results)).toEqual(new Set(['closed']))
      }
    } finally {
      Object.assign(state, real)
      Object.assign(journal, { find })
    }
    expect(counted).toEqual({ listed: 0, got: left.length, found: COUNT - KEEP_BLOCKED - 5 })
    expect(await newest(plane.gate)).toEqual([])
    await expectComplete(plane)
  }, 300_000)

  it('answer a restarted gate alike', async () => {
    const again = await plane.rig.restart()
    try {
      const { items, older } = await again.gate.data.state.blocked()
      expect(items).toEqual([])
      expect(older).not.toBeNull()
      expect(await again.gate.data.state.awaiting()).toHaveLength(1)
    } finally {
      await again.gate.close()
    }
  }, 60_000)
})
