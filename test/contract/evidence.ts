import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { jsonDigest } from '../../src/core/json/build.js'
import type { Plain } from '../../src/core/json/value.js'
import type { Evidence, EvidencePart, EvidenceRecord } from '../../src/ports/evidence.js'

/** What every driver of Evidence must hold (DESIGN §8), through the port alone. */
export type EvidenceBench = {
  evidence: Evidence
  /** The same store after a clean stop and a new start. */
  reopen(): Promise<Evidence>
  dispose(): Promise<void>
}

export const sha256 = (data: Uint8Array | string): Buffer =>
  createHash('sha256').update(data).digest()
export const digestOf = (value: Plain): string => jsonDigest(value, { sha256 })

export const jsonPart = (
  value: Plain,
  kind: EvidencePart['kind'] = 'constraint',
): EvidencePart => ({
  digest: digestOf(value),
  kind,
  value,
})
export const bytesPart = (bytes: Uint8Array): EvidencePart => ({
  digest: sha256(bytes).toString('hex'),
  kind: 'response',
  name: 'body',
  bytes,
})
export const recordOf = (
  actionId: string,
  parts: readonly EvidencePart[],
  over: Partial<EvidenceRecord> = {},
): EvidenceRecord => ({
  actionId,
  operator: 'acme',
  subject: null,
  at: '2026-03-01T12:00:00.000Z',
  parts,
  ...over,
})

export function evidenceContract(driver: string, open: () => Promise<EvidenceBench>): void {
  describe(`Evidence contract: ${driver}`, () => {
    let bench: EvidenceBench
    let evidence: Evidence
    beforeEach(async () => {
      bench = await open()
      evidence = bench.evidence
    })
    afterEach(() => bench.dispose())

    it('gives back exactly what was put, by action and by digest, also after a restart', async () => {
      const value = { amount: '12.50', roles: [], note: null, nested: { b: 1, a: 'é\u2028"' } }
      const parts = [
        jsonPart(value),
        jsonPart('text', 'reason'),
        jsonPart([], 'vote'),
        bytesPart(new Uint8Array([0, 255, 10])),
        bytesPart(new Uint8Array(0)),
      ]
      await evidence.put(recordOf('a', parts))
      for (const start of [async () => evidence, bench.reopen]) {
        const store = await start()
        expect(await store.byAction('a')).toEqual({ state: 'present', value: parts })
        for (const part of parts) {
          expect(await store.byDigest(part.digest)).toEqual({ state: 'present', value: part })
        }
      }
    })

    it('joins the records of one action, oldest first', async () => {
      const parts = ['one', 'two', 'three'].map((text) => jsonPart(text))
      for (const part of parts) await evidence.put(recordOf('a', [part]))
      expect(await evidence.byAction('a')).toEqual({ state: 'present', value: parts })
    })

    it('keeps a record without parts', async () => {
      await evidence.put(recordOf('a', []))
      expect(await evidence.byAction('a')).toEqual({ state: 'present', value: [] })
    })

    it('says missing for what was never put', async () => {
      expect(await evidence.byAction('nobody')).toEqual({ state: 'missing' })
      expect(await evidence.byDigest('0'.repeat(64))).toEqual({ state: 'missing' })
      expect(await evidence.byDigest('../../etc/passwd')).toEqual({ state: 'missing' })
      expect(await evidence.getPublic('0'.repeat(64))).toBeNull()
      expect(await evidence.getPublic('../keys')).toBeNull()
    })

    it('refuses parts that are not what their digest says, and keeps nothing of the record', async () => {
      const good = jsonPart('good')
      for (const bad of [
        { ...jsonPart('x'), value: 'y' },
        { ...bytesPart(new Uint8Array([1])), bytes: new Uint8Array([2]) },
        { ...jsonPart('x'), digest: 'short' },
        { digest: digestOf('x'), kind: 'reason' as const },
        { ...jsonPart('x'), bytes: new Uint8Array() },
      ]) {
        await expect(evidence.put(recordOf('a', [good, bad]))).rejects.toThrow()
      }
      await expect(
        evidence.put(recordOf('a', [{ ...good, value: 1.5 as unknown as Plain }])),
      ).rejects.toThrow()
      expect(await evidence.byAction('a')).toEqual({ state: 'missing' })
      expect(await evidence.byDigest(good.digest)).toEqual({ state: 'missing' })
    })

    it('erases a subject for good, tells erased from missing, and counts what went dark', async () => {
      const secret = jsonPart({ name: 'Ada' })
      const other = jsonPart({ name: 'Bob' })
      await evidence.put(recordOf('a1', [secret], { subject: 'ada' }))
      await evidence.put(recordOf('a2', [jsonPart('more')], { subject: 'ada' }))
      await evidence.put(recordOf('b', [other], { subject: 'bob' }))
      expect(await evidence.erase({ subject: 'ada' })).toBe(2)
      expect(await evidence.erase({ subject: 'ada' })).toBe(0)
      expect(await evidence.erase({ subject: 'nobody' })).toBe(0)
      for (const start of [async () => evidence, bench.reopen]) {
        const store = await start()
        expect(await store.byAction('a1')).toEqual({ state: 'erased' })
        expect(await store.byAction('a2')).toEqual({ state: 'erased' })
        expect(await store.byDigest(secret.digest)).toEqual({ state: 'erased' })
        expect(await store.byDigest(other.digest)).toMatchObject({ state: 'present' })
        expect(await store.byAction('c')).toEqual({ state: 'missing' })
      }
    })

    it('seals a subject seen again under a fresh key, and leaves the old records dark', async () => {
      const again = jsonPart('again')
      await evidence.put(recordOf('old', [jsonPart('old')], { subject: 'ada' }))
      await evidence.erase({ subject: 'ada' })
      await evidence.put(recordOf('new', [again], { subject: 'ada' }))
      const store = await bench.reopen()
      expect(await store.byAction('old')).toEqual({ state: 'erased' })
      expect(await store.byAction('new')).toEqual({ state: 'present', value: [again] })
      expect(await store.erase({ subject: 'ada' })).toBe(1)
    })

    it('erases one day of one operator and nothing else', async () => {
      const put = (action: string, over: Partial<EvidenceRecord>) =>
        evidence.put(recordOf(action, [jsonPart(action)], over))
      await put('mine', {})
      await put('tomorrow', { at: '2026-03-02T00:00:00.000Z' })
      await put('theirs', { operator: 'other' })
      await put('subject', { subject: 'ada' })
      expect(await evidence.erase({ operator: 'acme', day: '2026-03-01' })).toBe(1)
      const states = ['mine', 'tomorrow', 'theirs', 'subject'].map(
        async (action) => (await evidence.byAction(action)).state,
      )
      expect(await Promise.all(states)).toEqual(['erased', 'present', 'present', 'present'])
    })

    it('finds a living copy of a digest that another record lost', async () => {
      const shared = jsonPart({ code: 'over_limit' }, 'reason')
      await evidence.put(recordOf('b', [shared]))
      await evidence.put(recordOf('a', [shared], { subject: 'ada' }))
      await evidence.erase({ subject: 'ada' })
      expect(await evidence.byAction('a')).toEqual({ state: 'erased' })
      expect(await evidence.byDigest(shared.digest)).toEqual({ state: 'present', value: shared })
    })

    it('shows what is left of an action of which a part was erased', async () => {
      const kept = jsonPart('kept')
      await evidence.put(recordOf('a', [jsonPart('gone')], { subject: 'ada' }))
      await evidence.put(recordOf('a', [kept]))
      await evidence.erase({ subject: 'ada' })
      expect(await evidence.byAction('a')).toEqual({ state: 'present', value: [kept] })
      expect(await evidence.byDigest(digestOf('gone'))).toEqual({ state: 'erased' })
    })

    it('tells from its index alone what is present, erased (and under which key) and missing', async () => {
      const parts = [1, 2, 3, 4].map((n) => jsonPart({ n }))
      const shared = jsonPart('shared')
      const [one, two, three, four] = parts as [
        EvidencePart,
        EvidencePart,
        EvidencePart,
        EvidencePart,
      ]
      await evidence.put(recordOf('a', [one, shared], { subject: 'ada' }))
      await evidence.put(recordOf('b', [two, shared], { subject: 'bob' }))
      await evidence.put(recordOf('c', [three]))
      const key = await evidence.keyOf({ subject: 'ada' })
      expect(key).toMatch(/^[0-9a-f]+$/)
      expect(await evidence.keyOf({ subject: 'bob' })).not.toBe(key)
      expect(await evidence.keyOf({ subject: 'nobody' })).toBeNull()
      expect(await evidence.keyOf({ operator: 'acme', day: '2026-03-01' })).not.toBeNull()
      const asked = [three, shared, one, four, two, three].map(({ digest }) => digest)
      const present = { state: 'present' }
      const missing = { state: 'missing' }
      expect(await evidence.inIndex(asked)).toEqual([
        ...[present, present, present, missing, present, present],
      ])
      await evidence.erase({ subject: 'ada' })
      expect(await evidence.keyOf({ subject: 'ada' })).toBeNull()
      // By the words of docs/capsule.md alone.
      const names = [sha256('a').toString('hex'), one.digest, shared.digest].map((name) =>
        name.slice(0, 16),
      )
      const under = sha256(names.sort().join('\n')).toString('hex')
      for (const start of [async () => evidence, bench.reopen]) {
        const store = await start()
        expect(await store.inIndex(asked)).toEqual([
          ...[present, present, { state: 'erased', key }, missing, present, present],
        ])
        expect(await store.inIndex(['no digest', ''])).toEqual([missing, missing])
        expect(await store.inIndex([])).toEqual([])
        expect(await store.namesUnder(String(key))).toBe(under)
      }
    })

    it('counts records on their way when their subject is erased, and they are dark', async () => {
      const way = [1, 2, 3].map((n) =>
        evidence.put(recordOf(`a${n}`, [jsonPart(n)], { subject: 'ada' })),
      )
      expect(await evidence.erase({ subject: 'ada' })).toBe(3)
      await Promise.all(way)
      expect(await evidence.byAction('a2')).toEqual({ state: 'erased' })
    })

    it('keeps public bytes by their SHA-256 or their JSON-DIGEST, and refuses others', async () => {
      const policy = Buffer.from('permit (principal, action, resource);')
      const manifest = Buffer.from('{"id": "com.acme", "tools": [], "n": 1}')
      const byBytes = sha256(policy).toString('hex')
      const byJson = digestOf({ id: 'com.acme', n: 1 })
      await Promise.all([
        evidence.putPublic(byBytes, policy),
        evidence.putPublic(byBytes, policy),
        evidence.putPublic(byJson, manifest),
      ])
      await expect(evidence.putPublic(byBytes, manifest)).rejects.toThrow()
      await expect(evidence.putPublic('../x', policy)).rejects.toThrow()
      const store = await bench.reopen()
      expect(await store.getPublic(byBytes)).toEqual(new Uint8Array(policy))
      expect(await store.getPublic(byJson)).toEqual(new Uint8Array(manifest))
    })

    it('refuses after it was closed', async () => {
      await evidence.close()
      await evidence.close()
      await expect(evidence.put(recordOf('a', []))).rejects.toThrow(/closed/)
      await expect(evidence.byAction('a')).rejects.toThrow(/closed/)
      await expect(evidence.byDigest('0'.repeat(64))).rejects.toThrow(/closed/)
      await expect(evidence.erase({ subject: 'a' })).rejects.toThrow(/closed/)
    })

    it('agrees with a plain list over any puts, erasures and restarts', async () => {
      const step = fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({
            op: fc.constant('put' as const),
            action: fc.constantFrom('a', 'b', 'c'),
            subject: fc.option(fc.constantFrom('s', 't')),
            size: fc.nat({ max: 3000 }),
          }),
        },
        {
          weight: 1,
          arbitrary: fc.record({
            op: fc.constant('erase' as const),
            subject: fc.constantFrom('s', 't'),
          }),
        },
        { weight: 1, arbitrary: fc.record({ op: fc.constant('reopen' as const) }) },
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          const fresh = await open()
          try {
            let store = fresh.evidence
            const list: {
              action: string
              subject: string | null
              part: EvidencePart
              dark: boolean
            }[] = []
            for (const [i, one] of steps.entries()) {
              if (one.op === 'reopen') store = await fresh.reopen()
              if (one.op === 'erase') {
                const mine = list.filter(({ subject, dark }) => subject === one.subject && !dark)
                expect(await store.erase({ subject: one.subject })).toBe(mine.length)
                for (const entry of mine) entry.dark = true
              }
              if (one.op === 'put') {
                const { action, subject, size } = one
                const part = jsonPart({ i, fill: 'x'.repeat(size) })
                await store.put(recordOf(action, [part], { subject }))
                list.push({ action, subject, part, dark: false })
              }
            }
            for (const { part, dark } of list) {
              expect(await store.byDigest(part.digest)).toEqual(
                dark ? { state: 'erased' } : { state: 'present', value: part },
              )
            }
            for (const action of ['a', 'b', 'c']) {
              const all = list.filter((entry) => entry.action === action)
              const lit = all.filter(({ dark }) => !dark).map(({ part }) => part)
              expect(await store.byAction(action)).toEqual(
                lit.length > 0
                  ? { state: 'present', value: lit }
                  : { state: all.length > 0 ? 'erased' : 'missing' },
              )
            }
          } finally {
            await fresh.dispose()
          }
        }),
        { numRuns: 25 },
      )
    })
  })
}
