import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { DriverEntry, OpenedJournal } from '../../src/adapters/journal/model.js'
import type {
  CapsuleFilter,
  CapsuleList,
  CapsulePage,
  JournalLine,
} from '../../src/ports/journal.js'

/** Journals are held to it before their lines have types: a driver takes any (core/journal does not). */
type Journal = Pick<
  OpenedJournal,
  'origin' | 'timestamp' | 'head' | 'lines' | 'find' | 'list' | 'health' | 'close'
> & {
  append(
    entries: readonly DriverEntry[],
    options?: { urgent?: boolean },
  ): ReturnType<OpenedJournal['append']>
}

/**
 * What every Journal must do (DESIGN §8). A driver gives a store it can open again and again; `fail`,
 * where it has one, makes the next write to the medium fail.
 */
export type JournalStore = {
  open(): Promise<Journal>
  fail?(): void
  clean(): Promise<void>
}

const entry = (members: object, type = 'NOTE'): DriverEntry => ({
  type,
  json: JSON.stringify(members),
})

async function read(journal: Journal, from?: number): Promise<JournalLine[]> {
  const lines: JournalLine[] = []
  for await (const line of journal.lines(from)) lines.push(line)
  return lines
}
const written = (lines: readonly JournalLine[]): JournalLine[] =>
  lines.filter(({ type }) => type === 'NOTE')

export function journalContract(name: string, makeStore: () => Promise<JournalStore>): void {
  describe(`${name} keeps the journal's promises`, () => {
    let store: JournalStore
    let journal: Journal
    beforeEach(async () => {
      store = await makeStore()
      journal = await store.open()
    })
    afterEach(() => store.clean())

    it('starts empty, with a head of 64 zeros at line 0', async () => {
      expect(journal.head()).toEqual({ seq: 0, hash: '0'.repeat(64) })
      expect(await read(journal)).toEqual([])
    })

    it('returns seq, prev, at and hash of each line, as they stand in the file', async () => {
      const [a, b] = await journal.append([entry({ n: 1 }), entry({ n: 2 })])
      const [c] = await journal.append([entry({ n: 3 })])
      expect(b?.seq).toBe((a?.seq ?? 0) + 1)
      expect(b?.prev).toBe(a?.hash)
      const lines = await read(journal)
      for (const one of [a, b, c]) {
        const { seq = 0, prev, at, hash } = one ?? {}
        expect(lines[seq - 1]).toMatchObject({ v: 2, origin: journal.origin, seq, prev, at })
        // There is always a line behind it: its head, at least.
        expect(lines[seq]?.prev).toBe(hash)
      }
      expect(lines[0]?.prev).toBe('0'.repeat(64))
      expect(written(lines).map(({ n }) => n)).toEqual([1, 2, 3])
    })

    it('ends each batch in a signed head, which covers all lines of the call and is the last line', async () => {
      const counted = { lines: 0, capsules: 0 }
      for (const [n, types] of [['NOTE'], ['NOTE', 'CAPSULE', 'NOTE'], ['CAPSULE']].entries()) {
        const appended = await journal.append(types.map((type) => entry({ n }, type)))
        counted.lines += types.length
        counted.capsules += types.filter((type) => type === 'CAPSULE').length
        const [first, last] = [appended[0], appended.at(-1)]
        const head = first?.head
        for (const one of appended) expect(one.head).toEqual(head)
        const { seq: upto = 0, hash = '', at: time = '' } = last ?? {}
        const { origin } = journal
        expect(head?.signed).toMatchObject({ origin, upto, hash, time, ...counted })
        expect(head?.seq).toBe(upto + 1)
        expect(journal.head()).toEqual({ seq: head?.seq, hash: head?.hash })
        const line = (await read(journal, head?.seq))[0]
        expect(line).toEqual({
          v: 2,
          seq: head?.seq,
          prev: hash,
          at: time,
          type: 'HEAD',
          ...head?.signed,
        })
      }
    })

    it('gives calls that go together one head, and none covers less than its line', async () => {
      const calls = await Promise.all(
        Array.from({ length: 20 }, (_, n) => journal.append([entry({ n })])),
      )
      const lines = await read(journal)
      const heads = lines.filter(({ type }) => type === 'HEAD')
      for (const [line] of calls) {
        const next = heads.find(({ seq }) => seq > (line?.seq ?? 0))
        expect(line?.head.seq).toBe(next?.seq)
        expect(line?.head.signed.sig).toBe(next?.sig)
      }
      expect(heads.length).toBeLessThan(20)
      expect(heads.at(-1)).toMatchObject({ lines: 20, capsules: 0 })
    })

    it('goes on counting after opening again', async () => {
      for (let n = 1; n <= 3; n++) {
        const [line] = await journal.append([entry({ n }, 'CAPSULE')])
        expect(line?.head.signed).toMatchObject({ lines: n, capsules: n })
        await journal.close()
        journal = await store.open()
      }
    })

    it('orders concurrent appends totally and keeps each call together', async () => {
      const calls = Array.from({ length: 50 }, (_, call) =>
        journal.append([0, 1, 2].map((part) => entry({ call, part }))),
      )
      await Promise.all(calls)
      const notes = written(await read(journal))
      expect(notes).toHaveLength(150)
      notes.forEach(({ call, part }, i) => {
        expect(part).toBe(i % 3)
        expect(call).toBe(notes[i - (i % 3)]?.call)
      })
      expect(notes.map(({ seq }) => seq)).toEqual(
        [...notes.map(({ seq }) => seq)].sort((a, b) => a - b),
      )
    })

    it('gives nothing for no entries', async () => {
      expect(await journal.append([])).toEqual([])
      expect(journal.head().seq).toBe(0)
    })

    it('reads the same lines after closing and opening again', async () => {
      await journal.append([entry({ n: 1, text: 'naïve "quoted" \u2028 😀' }), entry({})])
      const before = await read(journal)
      const head = journal.head()
      await journal.close()
      journal = await store.open()
      expect(await read(journal)).toEqual(before)
      expect(journal.head()).toEqual(head)
    })

    it('reads from a given line on', async () => {
      const seqs: number[] = []
      for (let n = 1; n <= 5; n++) {
        const [line] = await journal.append([entry({ n })])
        seqs.push(line?.seq ?? 0)
      }
      expect(written(await read(journal, seqs[3])).map(({ n }) => n)).toEqual([4, 5])
      expect(await read(journal, 1000)).toEqual([])
    })

    it('finds lines by action id and capsule id, newest first, and only those about it', async () => {
      const capsule = { action_id: 'act-1', capsule_id: 'c'.repeat(64) }
      await journal.append([entry({ action_id: 'act-1', tool: 't' }, 'ACTION_DISPATCHED')])
      await journal.append([
        entry({ action_id: 'act-2', note: '"action_id":"act-1"' }, 'ACTION_DISPATCHED'),
      ])
      await journal.append([entry({ capsule, signature: 's' }, 'CAPSULE')])
      await journal.append([entry({ action_id: 'act-1' })])
      const types = async (id: string) => (await journal.find(id)).map(({ type }) => type)
      expect(await types('act-1')).toEqual(['CAPSULE', 'ACTION_DISPATCHED'])
      expect(await types(capsule.capsule_id)).toEqual(['CAPSULE'])
      expect(await types('act-2')).toEqual(['ACTION_DISPATCHED'])
      expect(await types('nobody')).toEqual([])
      await journal.close()
      journal = await store.open()
      expect(await types('act-1')).toEqual(['CAPSULE', 'ACTION_DISPATCHED'])
    })

    describe('list', () => {
      const capsule = (n: number, verdict: string, more: object = {}, line: object = {}) => {
        const ids = { action_id: `act-${n}`, capsule_id: String(n).repeat(64), developer: 'dev' }
        const disposition = { verdict_class: verdict }
        return entry({ capsule: { ...ids, disposition, ...more }, ...line }, 'CAPSULE')
      }
      const dispatch = (n: number, agent: string, tool: string): DriverEntry =>
        entry({ action_id: `act-${n}`, agent, tool }, 'ACTION_DISPATCHED')
      const settles = { settles: { outcome: 'commit' } }
      const ids = (list: CapsuleList<JournalLine>): unknown[] =>
        list.entries.map(({ line }) => Object(line.capsule).action_id)
      const find = async (filter: CapsuleFilter): Promise<unknown[]> =>
        ids(await journal.list(filter, { before: null, limit: 10 }))

      beforeEach(async () => {
        // Each in a call of its own, so that tiny segments part a dispatch from its conclusion.
        for (const one of [
          dispatch(1, 'bot-a', 'refund'),
          capsule(2, 'blocked', {}, { about: { agent: 'bot-a', tool: 'refund' } }),
          dispatch(3, 'bot-b', 'lookup'),
          capsule(1, 'executed', { 'dev.capsulegate.decision_id': 'act-2' }, settles),
          entry({ verdict_class: 'blocked', agent: 'bot-a' }),
          capsule(4, 'denied', {}, { about: { agent: 'bot-b' } }),
          capsule(3, 'executed', { action_type: 'decide', effect: {} }),
          capsule(5, 'denied', { developer: 'bot-a' }),
        ]) {
          await journal.append([one])
        }
      })

      it('finds by verdict, tool, agent and decision, newest first, before and after reopening', async () => {
        for (let lifetime = 0; lifetime < 2; lifetime++) {
          expect(await find({})).toEqual(['act-5', 'act-3', 'act-4', 'act-1', 'act-2'])
          expect(await find({ verdict: 'denied' })).toEqual(['act-5', 'act-4'])
          expect(await find({ tool: 'refund' })).toEqual(['act-1', 'act-2'])
          expect(await find({ agent: 'bot-b' })).toEqual(['act-3', 'act-4'])
          // The last one names no sender; its developer is called so.
          expect(await find({ agent: 'bot-a' })).toEqual(['act-5', 'act-1', 'act-2'])
          expect(await find({ decision: 'act-2' })).toEqual(['act-1', 'act-2'])
          expect(await find({ tool: 'refund', verdict: 'executed' })).toEqual(['act-1'])
          expect(await find({ agent: 'dev' })).toEqual([])
          await journal.close()
          journal = await store.open()
        }
      })

      it('tells agent and tool of the line or its dispatch, and hands out the line as it is read', async () => {
        const { entries } = await journal.list({}, { before: null, limit: 10 })
        expect(entries.map(({ agent, tool }) => [agent, tool])).toEqual([
          [null, null],
          ['bot-b', 'lookup'],
          ['bot-b', null],
          ['bot-a', 'refund'],
          ['bot-a', 'refund'],
        ])
        const lines = await read(journal)
        for (const { seq, at, line } of entries) {
          expect(line).toEqual(lines[seq - 1])
          expect(at).toBe(line.at)
        }
      })

      it('pages both ways without an empty page, whatever the size', async () => {
        const whole = await find({})
        for (let limit = 1; limit <= 6; limit++) {
          for (const order of ['before', 'after'] as const) {
            const seen: unknown[] = []
            let next: number | null = null
            do {
              const page: CapsulePage =
                order === 'before' ? { before: next, limit } : { after: next ?? 0, limit }
              const list: CapsuleList<JournalLine> = await journal.list({}, page)
              expect(list.entries.length).toBeGreaterThan(0)
              seen.push(...ids(list))
              next = list.next
            } while (next !== null)
            expect(seen).toEqual(order === 'before' ? whole : whole.toReversed())
          }
        }
      })

      it('keeps to the times given, both included, and refuses what is no time', async () => {
        const lines = await read(journal)
        for (const { at } of lines) {
          const expected = (keep: (line: JournalLine) => boolean): unknown[] =>
            lines
              .filter((line) => line.type === 'CAPSULE' && keep(line))
              .map(({ capsule }) => Object(capsule).action_id)
              .reverse()
          expect(await find({ from: at })).toEqual(expected((line) => line.at >= at))
          expect(await find({ to: at })).toEqual(expected((line) => line.at <= at))
        }
        await expect(find({ from: 'yesterday' })).rejects.toThrow()
      })

      it('shows what is durable the moment it is told', async () => {
        await Promise.all(
          Array.from({ length: 8 }, async (_, n) => {
            const decided = { 'dev.capsulegate.decision_id': `mine-${n}` }
            await journal.append([capsule(6, 'blocked', decided)])
            expect(await find({ decision: `mine-${n}` })).toEqual(['act-6'])
          }),
        )
      })
    })

    it.each<[string, DriverEntry]>([
      ['a line that only the journal writes, a head', entry({ upto: 1 }, 'HEAD')],
      ['a line that only the journal writes, a seal', entry({ size: 1 }, 'SEGMENT_SEALED')],
      ['a member named like the envelope', entry({ seq: 7 })],
      ['members that are an array', { type: 'NOTE', json: '[1]' }],
      ['members that are not JSON', { type: 'NOTE', json: '{"a":}' }],
      ['a raw line break', { type: 'NOTE', json: '{"a":\n1}' }],
      ['a type with quotes', { type: 'A","x":"', json: '{}' }],
      ['a lower-case type', { type: 'note', json: '{}' }],
      ['more than a line may hold', entry({ pad: 'x'.repeat(3_000_000) })],
    ])('refuses %s and writes nothing of that call', async (_, bad) => {
      await expect(journal.append([entry({ n: 1 }), bad])).rejects.toThrow()
      expect(await read(journal)).toEqual([])
      await journal.append([entry({ n: 2 })])
      expect(written(await read(journal)).map(({ n }) => n)).toEqual([2])
    })

    it('never gives a timestamp before the last one', async () => {
      const first = journal.timestamp()
      const [line] = await journal.append([entry({})])
      expect((line?.at ?? '') >= first).toBe(true)
      expect(journal.timestamp() >= (line?.at ?? '')).toBe(true)
    })

    it('refuses a second writer while the first is open', async () => {
      await expect(store.open()).rejects.toThrow()
      await journal.append([entry({ n: 1 })])
      expect(journal.health()).toEqual({ ok: true, reason: null })
    })

    it('refuses to append after closing, and closes twice', async () => {
      await journal.close()
      await journal.close()
      await expect(journal.append([entry({})])).rejects.toThrow()
    })

    it('leaves nothing behind of a batch that could not be written', async () => {
      if (store.fail === undefined) return
      await journal.append([entry({ n: 1 })])
      const head = journal.head()
      store.fail()
      await expect(journal.append([entry({ n: 2 }), entry({ n: 3 })])).rejects.toThrow()
      expect(journal.head()).toEqual(head)
      expect(written(await read(journal)).map(({ n }) => n)).toEqual([1])
      await journal.close()
      journal = await store.open()
      expect(written(await read(journal)).map(({ n }) => n)).toEqual([1])
      expect(journal.head()).toEqual(head)
    })
  })
}
