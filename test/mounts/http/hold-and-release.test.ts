import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Header } from '../../../src/core/call/call.js'
import type { BodyFraming } from '../../../src/core/http/response.js'
import type { Held } from '../../../src/gate/memory.js'
import { Release } from '../../../src/mounts/http/hold-and-release.js'
import type { Hold } from '../../../src/mounts/http/hold-terms.js'
import { NOWHERE, type Outlet } from '../../../src/mounts/http/outlet.js'

/** DESIGN §2.1 and §3 "Release", of the machine alone: whatever comes, in whatever order. */
type Command =
  | { readonly kind: 'head'; readonly framing: BodyFraming; readonly events: boolean }
  | { readonly kind: 'data'; readonly length: number }
  | { readonly kind: 'trailers' | 'complete' | 'cut' | 'over' | 'leave' }

const RECORDED = { actionId: 'a', capsuleId: 'c', verdict: 'executed' }
const framings: fc.Arbitrary<BodyFraming> = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((length) => ({ kind: 'content_length', length }) as const),
  fc.constantFrom({ kind: 'chunked' }, { kind: 'bodyless' }, { kind: 'close' } as const),
)
const head = fc.record({ kind: fc.constant('head'), framing: framings, events: fc.boolean() })
const data = fc.record({ kind: fc.constant('data'), length: fc.integer({ min: 0, max: 12 }) })
const word = fc.constantFrom(
  ...(['trailers', 'complete', 'cut', 'over', 'leave'] as const).map((kind) => ({ kind })),
)
/** Mostly the order of a call, so that long answers are reached, with anything in between. */
const commands: fc.Arbitrary<Command[]> = fc
  .tuple(
    fc.array(fc.oneof(data, word), { maxLength: 1 }),
    head,
    fc.array(fc.oneof({ weight: 12, arbitrary: data }, { weight: 1, arbitrary: word }), {
      maxLength: 12,
    }),
    fc.array(fc.oneof(word, data, head), { maxLength: 5 }),
  )
  .map(([before, first, body, after]): Command[] => [...before, first, ...body, ...after])
const holds: fc.Arbitrary<Omit<Hold, 'room'>> = fc.oneof(
  fc.constant({ limit: -1, beyond: 'stream' } as const),
  fc.record({
    limit: fc.integer({ min: 0, max: 30 }),
    beyond: fc.constantFrom('stream' as const, 'drop' as const),
  }),
)

/** Memory that counts how often it was given back. */
function countedRoom(
  octets: number,
): Held & { readonly own: () => number; readonly times: () => number } {
  let own = octets
  let times = 0
  return {
    own: () => own,
    times: () => times,
    shrinkTo(less) {
      expect(times).toBe(0)
      own = Math.min(own, less)
    },
    letGo() {
      times++
      own = 0
    },
  }
}

type Said = 'start' | 'write' | 'end' | 'whole' | 'cut'
/** An outlet that remembers what was said, and refuses what comes behind the last word or a departure. */
function recordingOutlet(slow: (turn: number) => boolean) {
  const said: Said[] = []
  const out: number[] = []
  const waiting: (() => void)[] = []
  let gone = false
  let busy = false
  let left: () => void = () => undefined
  const say = (what: Said, octets: Iterable<number> = []): void => {
    expect(gone).toBe(false)
    expect(said.filter((before) => before !== 'start' && before !== 'write')).toEqual([])
    if (what === 'write' || what === 'end') expect(said[0]).toBe('start')
    if (what === 'start' || what === 'whole') expect(said).toEqual([])
    said.push(what)
    out.push(...octets)
  }
  const outlet: Outlet = {
    gone: () => gone,
    whole: (_head, body) => say('whole', body),
    start: () => say('start'),
    write(octets) {
      expect(octets.length).toBeGreaterThan(0)
      say('write', octets)
      if (!slow(said.length)) return undefined
      busy = true
      return Promise.resolve()
    },
    end: (_head, last) => say('end', last ?? []),
    cut: () => say('cut'),
    whenLeft(tell) {
      left = tell
    },
    whenOut: (_size, tell) => waiting.push(tell),
  }
  return {
    outlet,
    said,
    out,
    leave() {
      gone = true
      left()
    },
    allOut() {
      for (const tell of waiting.splice(0)) tell()
    },
    /** Whether something was written to a slow client since last asked. */
    wasBusy() {
      const was = busy
      busy = false
      return was
    },
  }
}

/** What the sequence means, worked out apart from the machine. */
function meaning(sequence: readonly Command[], { limit, beyond }: Omit<Hold, 'room'>) {
  const verbs: readonly Command['kind'][] = ['complete', 'cut', 'over']
  const stop = sequence.findIndex(({ kind }) => verbs.includes(kind))
  const until = stop === -1 ? sequence : sequence.slice(0, stop)
  const first = until.findIndex(({ kind }) => kind === 'head')
  const opened = until[first]
  const fed = (first === -1 ? [] : until.slice(first)).reduce(
    (sum, command) => sum + (command.kind === 'data' ? command.length : 0),
    0,
  )
  const framing = opened?.kind === 'head' ? opened.framing : null
  const declared = framing?.kind === 'content_length' ? framing.length : null
  const size = framing?.kind === 'bodyless' ? 0 : Math.min(fed, declared ?? fed)
  const long =
    framing !== null && framing.kind !== 'bodyless' && Math.max(size, declared ?? 0) > limit
  const events = opened?.kind === 'head' && opened.events && framing?.kind !== 'bodyless'
  return {
    verdict: stop === -1 ? null : (sequence[stop]?.kind ?? null),
    framing,
    declared,
    size,
    streams: beyond === 'stream' && (long || events),
    dropped: beyond === 'drop' && long,
    left: sequence.some(({ kind }) => kind === 'leave'),
  }
}

function obey(
  release: Release,
  command: Command,
  octets: Iterator<number>,
): undefined | Promise<void> {
  switch (command.kind) {
    case 'head': {
      const type = command.events ? 'text/event-stream; charset=utf-8' : 'text/event-streams'
      const headers: Header[] = [['content-type', type]]
      return release.head(200, headers, command.framing)
    }
    case 'data':
      return release.data(
        Uint8Array.from({ length: command.length }, () => octets.next().value as number),
      )
    case 'trailers':
      release.trailers([['x-sum', '1']])
      return undefined
    case 'complete':
      release.complete(RECORDED)
      return undefined
    case 'cut':
      release.cut()
      return undefined
    case 'over':
      release.over()
      return undefined
    case 'leave':
      return undefined
  }
}
function* counting(): Generator<number, never> {
  for (let next = 0; ; next++) yield next & 0xff
}

describe('whatever comes', () => {
  it('ends only what is complete, says nothing behind a cut, gives memory back once, holds within its limit', () => {
    fc.assert(
      fc.property(commands, holds, fc.func(fc.boolean()), (sequence, hold, slow) => {
        const room = hold.limit < 0 ? null : countedRoom(hold.limit)
        const seen = recordingOutlet((turn) => slow(turn))
        const release = new Release(seen.outlet, { ...hold, room }, (headers) => headers)
        const octets = counting()
        const taken: number[] = []
        let opened = false
        let stopped = false
        let completed = false
        for (const command of sequence) {
          if (command.kind === 'leave') seen.leave()
          if (command.kind === 'complete' && !stopped) completed = true
          if (command.kind === 'head') opened = true
          const watched: Iterator<number> = {
            next: () => {
              const one = octets.next()
              if (opened && !stopped) taken.push(one.value)
              return one
            },
          }
          const busy = obey(release, command, watched)
          expect(busy !== undefined).toBe(seen.wasBusy())
          stopped ||= ['complete', 'cut', 'over'].includes(command.kind)
          const held = release.held()
          if (held !== null) {
            expect(held.body.length).toBeLessThanOrEqual(Math.max(0, hold.limit))
            expect(held.body.length).toBeLessThanOrEqual(room?.own() ?? 0)
          }
          if (!completed) {
            expect(seen.said).not.toContain('end')
            expect(seen.said).not.toContain('whole')
            const { declared } = meaning(sequence, hold)
            if (declared !== null) expect(seen.out.length).toBeLessThan(Math.max(1, declared))
          }
          if (seen.said.includes('start')) {
            expect(release.started()).toBe(true)
            // What streams holds nothing.
            if (room !== null) expect(room.times()).toBe(1)
          }
        }
        const { verdict, framing, size, streams, dropped, left } = meaning(sequence, hold)
        const whole = taken.slice(0, size)
        expect(seen.out).toEqual(whole.slice(0, seen.out.length))
        if (!left) {
          const last = seen.said.at(-1)
          if (verdict === 'complete') {
            if (framing === null || dropped) expect(seen.said).toEqual(['cut'])
            else {
              expect(last).toBe(streams ? 'end' : 'whole')
              expect(seen.out).toEqual(whole)
            }
          }
          if (verdict === 'cut') expect(last).toBe('cut')
          if (verdict === 'over') expect(last).toBe(streams ? 'cut' : undefined)
        }
        // The first `over` suffices, wherever it stood, and no later one gives anything back again.
        for (let times = sequence.some(({ kind }) => kind === 'over') ? 1 : 0; times < 2; times++) {
          if (times === 0) release.over()
          seen.allOut()
          if (room !== null) expect([room.times(), room.own()]).toEqual([1, 0])
          release.over()
        }
        seen.allOut()
        if (room !== null) expect(room.times()).toBe(1)
      }),
      { numRuns: 3000 },
    )
  })

  it('memory of a whole answer is kept until it is out', () => {
    const room = countedRoom(10)
    const seen = recordingOutlet(() => false)
    const release = new Release(seen.outlet, { limit: 10, beyond: 'stream', room }, (all) => all)
    void release.head(200, [], { kind: 'chunked' })
    void release.data(Uint8Array.of(1, 2))
    release.complete(RECORDED)
    release.over()
    expect(room.times()).toBe(0)
    seen.allOut()
    expect(room.times()).toBe(1)
  })
})

describe('the reader of an event stream', () => {
  const events: Header[] = [['content-type', 'text/event-stream']]
  const opened = (headers: readonly Header[], beyond: Hold['beyond'] = 'stream') => {
    const seen = recordingOutlet(() => false)
    const release = new Release(seen.outlet, { limit: 9, beyond, room: null }, (all) => all)
    void release.head(200, headers, { kind: 'chunked' })
    return { seen, release }
  }

  it('is told apart from any other: only its leaving cuts the answer', () => {
    const { seen, release } = opened(events)
    const signal = release.closedEventStream
    expect([seen.said, signal?.aborted]).toEqual([['start'], false])
    seen.leave()
    expect(signal?.aborted).toBe(true)
    expect(opened([]).release.closedEventStream).toBeUndefined()
  })

  it('that was gone before the head cuts it too', () => {
    const seen = recordingOutlet(() => false)
    const release = new Release(
      seen.outlet,
      { limit: 9, beyond: 'stream', room: null },
      (all) => all,
    )
    expect(release.closedEventStream).toBeUndefined()
    seen.leave()
    void release.head(200, events, { kind: 'chunked' })
    expect(release.closedEventStream?.aborted).toBe(true)
  })

  it('that is not there at all cuts nothing: a call in the background is kept', () => {
    const release = new Release(NOWHERE, { limit: 9, beyond: 'drop', room: null }, (all) => all)
    void release.head(200, events, { kind: 'chunked' })
    void release.data(Uint8Array.of(1))
    expect(release.closedEventStream?.aborted).toBe(false)
    expect(release.held()?.body).toEqual(Uint8Array.of(1))
  })
})

it('a head that the medium refuses is cut, and no end follows it', () => {
  const seen = recordingOutlet(() => false)
  const outlet: Outlet = {
    ...seen.outlet,
    start: () => {
      throw new RangeError('no such status')
    },
  }
  const release = new Release(outlet, { limit: -1, beyond: 'stream', room: null }, (all) => all)
  expect(() => release.head(200, [], { kind: 'chunked' })).toThrow(RangeError)
  release.complete(RECORDED)
  expect(seen.said).toEqual(['cut'])
})
