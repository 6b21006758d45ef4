import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { OpenedJournal } from '../../../src/adapters/journal/index.js'
import { openCapsuleFiles } from '../../../src/adapters/journal/list-files.js'
import type { DriverEntry } from '../../../src/adapters/journal/model.js'
import type { CapsuleFilter, JournalLine } from '../../../src/ports/journal.js'
import { allLines, makePlace, note, type Place, rawLines } from './harness.js'

let place: Place | null = null
let stop = new AbortController()
afterEach(async () => {
  stop.abort()
  stop = new AbortController()
  await place?.clean()
  place = null
})

// ── Random journals ──────────────────────────────────────────────────────────
const ROW = 60
const VERDICTS = ['executed', 'blocked', 'denied'] as const
const AGENTS = ['bot-a', 'bot-b', 'dev-1'] as const
const TOOLS = ['refund', 'lookup'] as const

type Step = {
  readonly kind:
    | 'refuse'
    | 'older_refusal'
    | 'dispatch'
    | 'conclude'
    | 'outcome'
    | 'note'
    | 'reopen'
  readonly verdict: (typeof VERDICTS)[number]
  readonly agent: (typeof AGENTS)[number]
  readonly tool: (typeof TOOLS)[number] | null
  /** Which of the open actions, or of the capsules so far. */
  readonly which: number
  readonly wait: number
}
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    ...(['refuse', 'older_refusal', 'dispatch', 'dispatch', 'conclude', 'conclude'] as const),
    ...(['outcome', 'note', 'reopen'] as const),
  ),
  verdict: fc.constantFrom(...VERDICTS),
  agent: fc.constantFrom(...AGENTS),
  tool: fc.constantFrom(...TOOLS, null),
  which: fc.nat(20),
  wait: fc.nat(2),
})

const line = (type: string, members: object): DriverEntry => ({
  type,
  json: JSON.stringify(members),
})

/** The entries of one step, as the gate would write them. */
function scripted() {
  const open: string[] = []
  const capsules: string[] = []
  let n = 0
  const capsule = (members: object, verdict: string, action = `action-${++n}`) => {
    const capsule_id = `capsule-${capsules.length}`
    const disposition = { verdict_class: verdict }
    const built = { action_id: action, capsule_id, developer: 'dev-1', disposition, ...members }
    capsules.push(action)
    return built
  }
  return ({ kind, verdict, agent, tool, which }: Step): DriverEntry => {
    const decided = { 'dev.capsulegate.decision_id': `action-${1 + (which % (n + 1))}` }
    const parent = { parent_capsule_id: `capsule-${which}`, relation: 'supersedes' }
    switch (kind) {
      case 'refuse': {
        const about = { agent, ...(tool === null ? {} : { tool }) }
        const chain = which % 3 === 0 ? { chain: parent } : {}
        return line('CAPSULE', { capsule: capsule({ ...decided, ...chain }, verdict), about })
      }
      case 'older_refusal':
        return line('CAPSULE', { capsule: capsule({ developer: agent }, verdict) })
      case 'dispatch': {
        const action_id = `action-${++n}`
        open.push(action_id)
        return line('ACTION_DISPATCHED', { action_id, agent, tool: tool ?? 'refund' })
      }
      case 'conclude': {
        const [action] = open.splice(which % (open.length || 1), 1)
        if (action === undefined) return note(which)
        const settles = { action_id: action, outcome: 'commit' }
        const effect = { action_type: 'decide', effect: { status: 'confirmed' } }
        // With `settles` as lines are now, by the capsule alone as they were.
        return which % 2 === 0
          ? line('CAPSULE', { capsule: capsule(decided, verdict, action), settles })
          : line('CAPSULE', { capsule: capsule(effect, verdict, action) })
      }
      case 'outcome': {
        const effect = { action_type: 'fyi', effect: { status: 'reverted' } }
        return line('CAPSULE', { capsule: capsule({ ...decided, ...effect }, verdict) })
      }
      case 'note':
      case 'reopen':
        return note(which, which)
    }
  }
}

async function write(script: readonly Step[], segmentBytes: number): Promise<OpenedJournal> {
  let now = Date.parse('2026-01-01T00:00:00.000Z')
  const options = { segmentBytes, reserveBytes: 0, clock: { now: () => now } }
  place = await makePlace()
  let journal = await place.open(options)
  const entryOf = scripted()
  for (const one of script) {
    now += one.wait
    if (one.kind === 'reopen') {
      await journal.close()
      journal = await place.open(options)
    } else await journal.append([entryOf(one)])
  }
  return journal
}

// ── The same answer from the lines alone ─────────────────────────────────────
type Member = { readonly [name: string]: unknown }
const member = (value: unknown): Member => ({ ...(value as Member) })

type Naive = {
  readonly seq: number
  readonly agent: string | null
  readonly tool: string | null
  /** Every line that an answer about this capsule stands on. */
  readonly needs: readonly number[]
}

/**
 * Lines up to `archived` are not here. The list of the segment being written is made at the start: which
 * tool and agent an archived dispatch had it cannot know, so any filter of these has to ask for the line.
 */
function naive(lines: readonly JournalLine[], filter: CapsuleFilter, archived: number): Naive[] {
  const tail = lines.findLast(({ type }) => type === 'SEGMENT_SEALED')?.seq ?? 0
  return lines.flatMap((one) => {
    if (one.type !== 'CAPSULE') return []
    const capsule = member(one.capsule)
    const dispatched = 'settles' in one || ('effect' in capsule && capsule.action_type === 'decide')
    const dispatch = lines.find(
      ({ type, action_id }) => type === 'ACTION_DISPATCHED' && action_id === capsule.action_id,
    )
    const sender = 'about' in one ? member(one.about) : dispatched ? dispatch : undefined
    const dark =
      one.seq > tail && sender === dispatch && (dispatch?.seq ?? archived + 1) <= archived
    const verdict = member(capsule.disposition).verdict_class
    const decision = capsule['dev.capsulegate.decision_id'] ?? capsule.action_id
    const named = sender ?? { agent: capsule.developer }
    const wanted =
      (filter.verdict ?? verdict) === verdict &&
      (filter.decision ?? decision) === decision &&
      (dark || filter.tool === undefined || filter.tool === sender?.tool) &&
      (dark || filter.agent === undefined || filter.agent === named.agent) &&
      (filter.from === undefined || one.at >= filter.from) &&
      (filter.to === undefined || one.at <= filter.to)
    if (!wanted) return []
    const needs = sender !== undefined && sender === dispatch ? [one.seq, dispatch.seq] : [one.seq]
    const { agent = null, tool = null } = sender ?? {}
    return [{ seq: one.seq, agent, tool, needs } as Naive]
  })
}

type Query = { readonly filter: CapsuleFilter; readonly limit: number; readonly oldest: boolean }
const maybe = <T>(values: readonly T[]): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 })
const at = Array.from(
  { length: 9 },
  (_, n) => `2026-01-01T00:00:00.0${String(n * 5).padStart(2, '0')}Z`,
)
const query: fc.Arbitrary<Query> = fc.record({
  filter: fc.record({
    verdict: maybe(VERDICTS),
    tool: maybe([...TOOLS, 'nothing']),
    agent: maybe([...AGENTS, 'nobody']),
    decision: maybe(['action-1', 'action-2', 'action-5', 'action-99']),
    from: maybe(at),
    to: maybe(at),
  }),
  limit: fc.integer({ min: 1, max: 6 }),
  oldest: fc.boolean(),
})

/** All pages of a query, held against the naive answer. */
async function check(
  journal: Pick<OpenedJournal, 'list'>,
  { filter, limit, oldest }: Query,
  lines: readonly JournalLine[],
  archived = 0,
): Promise<void> {
  const all = naive(lines, filter, archived)
  const expected = oldest ? all : all.reverse()
  let done = 0
  for (let next: number | null = oldest ? 0 : null; ; ) {
    const asked = oldest ? { after: next ?? 0, limit } : { before: next, limit }
    const here = expected
      .slice(done, done + limit)
      .findIndex(({ needs }) => needs.some((seq) => seq <= archived))
    if (here === 0) {
      await expect(journal.list(filter, asked)).rejects.toMatchObject({ code: 'archived' })
      return
    }
    const wanted = expected.slice(done, done + (here < 0 ? limit : here))
    const page = await journal.list(filter, asked)
    expect(page.entries.map(({ seq, agent, tool }) => ({ seq, agent, tool }))).toEqual(
      wanted.map(({ seq, agent, tool }) => ({ seq, agent, tool })),
    )
    for (const entry of page.entries) {
      expect(entry.line).toEqual(lines[entry.seq - 1])
      expect(entry.at).toBe(entry.line.at)
    }
    done += wanted.length
    expect(page.next).toBe(done < expected.length ? (wanted.at(-1)?.seq ?? null) : null)
    if (page.next === null) return
    next = page.next
  }
}

const script = fc.array(step, { minLength: 1, maxLength: 45 })
const queries = fc.array(query, { minLength: 4, maxLength: 10 })
const sizes = fc.integer({ min: 1, max: 12_000 })
const sidecars = async (): Promise<string[]> =>
  (await readdir(here().dir)).filter((name) => name.endsWith('.idx')).sort()
const here = (): Place => {
  if (place === null) throw new Error('no journal')
  return place
}

describe('list', () => {
  it('equals a filter over all lines, whatever the pages, segments and lifetimes', async () => {
    await fc.assert(
      fc.asyncProperty(script, queries, sizes, async (steps, asked, segmentBytes) => {
        let journal = await write(steps, segmentBytes)
        const lines = await allLines(journal)
        for (const one of asked) await check(journal, one, lines)
        const beside = await openCapsuleFiles(here().dir)
        for (const one of asked) await check(beside, one, lines)
        await journal.close()
        journal = await here().open({ segmentBytes })
        for (const one of asked) await check(journal, one, lines)
        expect((await journal.verified).damage).toBeNull()
        expect(here().reports).toEqual([])
        await here().clean()
      }),
      { numRuns: 40 },
    )
  }, 120_000)

  const damages = fc.constantFrom('removed', 'emptied', 'cut', 'flipped', 'older' as const)
  it('and with sidecars that are gone, damaged or of an older version', async () => {
    await fc.assert(
      fc.asyncProperty(script, queries, fc.array(damages), async (steps, asked, wrong) => {
        let journal = await write(steps, 2700)
        const lines = await allLines(journal)
        await journal.close()
        const names = await sidecars()
        const intact = await Promise.all(names.map((name) => readFile(join(here().dir, name))))
        const broken = names.slice(0, wrong.length)
        for (const [i, name] of broken.entries()) {
          const path = join(here().dir, name)
          const bytes = await readFile(path)
          if (wrong[i] === 'removed') await rm(path)
          else if (wrong[i] === 'emptied') await truncate(path, 0)
          else if (wrong[i] === 'cut') await truncate(path, bytes.length - 1)
          else if (wrong[i] === 'older') await writeFile(path, olderVersion(bytes))
          else await writeFile(path, flipped(bytes))
        }
        const before = await sidecars()
        const beside = await openCapsuleFiles(here().dir)
        for (const one of asked) await check(beside, one, lines)
        expect(await sidecars()).toEqual(before)
        journal = await here().open({ segmentBytes: 2700 })
        for (const one of asked) await check(journal, one, lines)
        await journal.verified
        expect(here().reports.map(({ kind }) => kind)).toEqual(broken.map(() => 'index_rebuilt'))
        const rebuilt = await Promise.all(names.map((name) => readFile(join(here().dir, name))))
        expect(rebuilt).toEqual(intact)
        await here().clean()
      }),
      { numRuns: 30 },
    )
  }, 120_000)

  it('and after archiving, up to what is not here; segments without a match are passed', async () => {
    await fc.assert(
      fc.asyncProperty(script, queries, fc.nat(6), async (steps, asked, wish) => {
        let journal = await write(steps, 2700)
        const lines = await allLines(journal)
        await journal.close()
        const moved = (await sidecars())
          .slice(0, wish)
          .map((name) => join(here().dir, name.replace('idx', 'jsonl')))
        for (const path of moved) await rename(path, `${path}.archived`)
        const archived = lines.length - (await rawLines(here().dir)).length
        journal = await here().open({ segmentBytes: 2700 })
        for (const one of asked) await check(journal, one, lines, archived)
        expect((await journal.verified).damage).toBeNull()
        for (const path of moved) await rename(`${path}.archived`, path)
        await journal.close()
        journal = await here().open({ segmentBytes: 2700 })
        for (const one of asked) await check(journal, one, lines)
        await here().clean()
      }),
      { numRuns: 30 },
    )
  }, 120_000)
})

/** Version 2 as it was written: the ids alone. */
function olderVersion(bytes: Buffer): Buffer {
  const end = bytes.indexOf(10)
  const { capsules: _, ...header } = JSON.parse(bytes.toString('utf8', 0, end))
  const ids = bytes.subarray(end + 1, end + 1 + header.entries * 12)
  const sha256 = createHash('sha256').update(ids).digest('hex')
  return Buffer.concat([Buffer.from(`${JSON.stringify({ ...header, v: 2, sha256 })}\n`), ids])
}

/** One bit of the last row, or of the header's digest where there is none. */
function flipped(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes)
  const end = changed.indexOf(10)
  const spot = changed.length - 1 > end ? changed.length - 1 : changed.indexOf('"sha256":"') + 10
  changed[spot] = (changed[spot] as number) ^ 1
  return changed
}

describe('a page', () => {
  it('is of one moment: what is written while it is read is not in it', async () => {
    place = await makePlace()
    const journal = await place.open({ segmentBytes: 4000 })
    const refusal = (n: number): DriverEntry =>
      line('CAPSULE', { capsule: { action_id: `action-${n}` }, about: { agent: 'bot-a' } })
    for (let n = 0; n < 200; n++) await journal.append([refusal(n)])
    for (let round = 0; round < 5; round++) {
      const known = (await allLines(journal)).filter(({ type }) => type === 'CAPSULE')
      const reading = journal.list({}, { after: 0, limit: 100_000 })
      let over = false
      const done = reading.finally(() => {
        over = true
      })
      // Bounded: where syncs cost nothing, the next round would have thousands more to read.
      for (let n = 0; n < 200 && !over; n++) await journal.append([refusal(round)])
      expect((await done).entries.map(({ seq }) => seq)).toEqual(known.map(({ seq }) => seq))
    }
  })
})

describe('a sidecar that was changed and vouches for itself all the same', () => {
  const about = { agent: 'bot-a', tool: 'refund' }
  const row = { verdict: 28, tool: 36, offset: 16, dispatch: 20 } as const
  const filled = async (): Promise<OpenedJournal> => {
    place = await makePlace()
    const journal = await place.open({ segmentBytes: 3600 })
    for (let n = 0; n < 8; n++) {
      const action_id = `action-${n}`
      const disposition = { verdict_class: n % 2 === 0 ? 'denied' : 'executed' }
      const members = { capsule: { action_id, capsule_id: `c-${n}`, disposition } }
      if (n % 2 === 0) await journal.append([line('CAPSULE', { ...members, about })])
      else {
        await journal.append([line('ACTION_DISPATCHED', { action_id, ...about })])
        await journal.append([line('CAPSULE', { ...members, settles: {} })])
      }
    }
    await journal.close()
    const again = await place.open({ segmentBytes: 3600 })
    // Each sidecar is checked once: what is changed now is changed behind that.
    await again.verified
    return again
  }
  /** Changes the rows of the first segment and their digest with them. */
  const forge = async (change: (rows: Buffer) => void): Promise<void> => {
    const path = join(here().dir, '00000001.idx')
    const bytes = await readFile(path)
    const end = bytes.indexOf(10)
    const header = JSON.parse(bytes.toString('utf8', 0, end))
    const body = bytes.subarray(end + 1)
    change(body.subarray(header.entries * 12))
    const sha256 = createHash('sha256').update(body).digest('hex')
    await writeFile(
      path,
      Buffer.concat([Buffer.from(`${JSON.stringify({ ...header, sha256 })}\n`), body]),
    )
  }
  const found = async (journal: OpenedJournal, filter: CapsuleFilter): Promise<number[]> => {
    const { entries } = await journal.list(filter, { before: null, limit: 100 })
    return entries.map(({ seq }) => seq)
  }

  it('gives no capsule a verdict or tool that is not its own', async () => {
    const journal = await filled()
    const denied = await found(journal, { verdict: 'denied', tool: 'refund' })
    await forge((rows) => {
      // Every row claims the verdict and the tool of the first, which is a denied refund.
      for (let at = ROW; at < rows.length; at += ROW) {
        rows.copy(rows, at + row.verdict, row.verdict, row.verdict + 16)
      }
    })
    expect(await found(journal, { verdict: 'denied', tool: 'refund' })).toEqual(denied)
  })

  it.each<[string, (rows: Buffer) => void]>([
    ['another line', (rows) => rows.copy(rows, row.offset, ROW + row.offset, ROW + row.offset + 4)],
    ['the middle of a line', (rows) => rows.writeUInt32BE(7, row.offset)],
    ['a place behind the file', (rows) => rows.writeUInt32BE(0xfffffff0, row.offset)],
    ['another dispatch', (rows) => rows.writeUInt32BE(0, ROW + row.dispatch + 4)],
    ['a segment that is not there', (rows) => rows.writeUInt32BE(99, ROW + row.dispatch)],
  ])('is damage where it points to %s', async (_, change) => {
    const journal = await filled()
    await forge(change)
    await expect(found(journal, {})).rejects.toMatchObject({ code: 'damaged' })
  })

  it('does not give out a line that was changed', async () => {
    const journal = await filled()
    const path = join(here().dir, '00000001.jsonl')
    await writeFile(path, (await readFile(path, 'utf8')).replace('"denied"', '"Denied"'))
    await expect(found(journal, {})).rejects.toMatchObject({ code: 'damaged' })
  })

  it('was archived before lists were kept: what is newer is shown, then the reader is told', async () => {
    let journal = await filled()
    const all = await found(journal, {})
    await journal.close()
    const path = join(here().dir, '00000001.idx')
    await writeFile(path, olderVersion(await readFile(path)))
    await rename(join(here().dir, '00000001.jsonl'), join(here().root, 'archived.jsonl'))
    journal = await here().open({ segmentBytes: 3600 })
    const { entries, next } = await journal.list({}, { before: null, limit: 100 })
    expect(entries.length).toBeGreaterThan(0)
    expect(entries.map(({ seq }) => seq)).toEqual(all.slice(0, entries.length))
    await expect(journal.list({}, { before: next, limit: 100 })).rejects.toMatchObject({
      code: 'archived',
    })
    expect((await journal.verified).damage).toBeNull()
  })
})

describe('files beside the writer', () => {
  const dispatched = (n: number): DriverEntry =>
    line('ACTION_DISPATCHED', { action_id: `action-${n}`, agent: `bot-${n}`, tool: 'refund' })
  const concluded = (n: number): DriverEntry =>
    line('CAPSULE', { capsule: { action_id: `action-${n}`, capsule_id: `c-${n}` }, settles: {} })

  it.each([64 * 1024, 300])(
    'follow what comes, sent before or after they were opened (segments of %d bytes)',
    async (segmentBytes) => {
      place = await makePlace()
      const journal = await place.open({ segmentBytes })
      const empty = await openCapsuleFiles(place.dir)
      for (const n of [1, 2, 3]) await journal.append([dispatched(n)])
      await journal.append([concluded(1)])
      const files = await openCapsuleFiles(place.dir)
      const wanted = { tool: 'refund', agent: 'bot-3' }
      const [all, some, whole] = [
        files.follow({}, stop.signal)[Symbol.asyncIterator](),
        files.follow(wanted, stop.signal)[Symbol.asyncIterator](),
        empty.follow({}, stop.signal)[Symbol.asyncIterator](),
      ]
      for (const entry of [concluded(2), dispatched(4), concluded(3), concluded(4)]) {
        await journal.append([entry])
      }
      const agents = async (follow: typeof all, count: number): Promise<unknown[]> => {
        const seen: unknown[] = []
        while (seen.length < count) {
          const { value } = await follow.next()
          seen.push([value.agent, value.tool])
        }
        return seen
      }
      const sent = (...ns: number[]): unknown[] => ns.map((n) => [`bot-${n}`, 'refund'])
      try {
        expect(await agents(all, 3)).toEqual(sent(2, 3, 4))
        expect(await agents(some, 1)).toEqual(sent(3))
        expect(await agents(whole, 4)).toEqual(sent(1, 2, 3, 4))
        stop.abort()
        for (const follow of [all, some, whole]) expect((await follow.next()).done).toBe(true)
      } finally {
        stop.abort()
        for (const follow of [all, some, whole]) await follow.return?.()
      }
    },
  )

  it('begin with the first segment that is here', async () => {
    place = await makePlace()
    const journal = await place.open({ segmentBytes: 1 })
    for (const entry of [dispatched(1), concluded(1), dispatched(2), concluded(2)]) {
      await journal.append([entry])
    }
    await journal.close()
    const names = (await readdir(place.dir)).filter((name) => name.endsWith('.jsonl')).sort()
    expect(names).toHaveLength(4)
    const page = { after: 0, limit: 9 }
    const listed = async (filter: CapsuleFilter) =>
      (await (await openCapsuleFiles(here().dir)).list(filter, page)).entries.map(
        ({ agent }) => agent,
      )
    expect(await listed({})).toEqual(['bot-1', 'bot-2'])
    // The dispatch of the first conclusion goes; then that one goes, and the second dispatch.
    await rm(join(place.dir, names[0] ?? ''))
    expect(await listed({})).toEqual([null, 'bot-2'])
    expect(await listed({ tool: 'refund' })).toEqual(['bot-2'])
    for (const name of names.slice(1, 3)) await rm(join(place.dir, name))
    expect(await listed({})).toEqual([null])
  })
})
