import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { DriverEntry, OpenedJournal } from '../../src/adapters/journal/model.js'
import type { JournalLine } from '../../src/ports.js'

/** Journals are held to it before their lines have types: a driver takes any (core/journal does not). */
type Journal = Pick<
  OpenedJournal,
  'origin' | 'timestamp' | 'head' | 'lines' | 'find' | 'health' | 'close'
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

    it('returns seq, at and hash of each line, and the last is the head', async () => {
      const [a, b] = await journal.append([entry({ n: 1 }), entry({ n: 2 })])
      expect(b?.seq).toBe((a?.seq ?? 0) + 1)
      expect(journal.head()).toEqual({ seq: b?.seq, hash: b?.hash })
      const lines = await read(journal)
      expect(lines[1]?.prev).toBe(a?.hash)
      expect(lines.map(({ at }) => at)).toEqual([a?.at, b?.at])
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

    it.each<[string, DriverEntry]>([
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
