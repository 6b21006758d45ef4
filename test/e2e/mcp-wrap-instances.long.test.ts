import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import {
  endsOf,
  eventually,
  filesIn,
  hasReached,
  journalOf,
  receivedIn,
  scripted,
  textOf,
  verified,
  type Wrapped,
  workshop,
} from '../support/mcp/wrapped.js'

/** Clients start one command several times; a journal has one writer. All of them are one gate. */
const { fresh, wrap, stopAll, remove } = workshop('mcp-instances-')
afterEach(stopAll)
afterAll(remove)

type Place = ReturnType<typeof fresh>
const start = ({ data, log }: Place, args: readonly string[] = [], ...habits: string[]): Wrapped =>
  wrap({ data, args, command: scripted(log, ...habits) })

/** The first holds the folder; the others come to it. */
async function startMany(place: Place, count: number, args: readonly string[] = []) {
  const all: Wrapped[] = []
  for (let n = 0; n < count; n++) {
    const one = start(place, args)
    await one.initialize()
    all.push(one)
  }
  return all as [Wrapped, Wrapped, ...Wrapped[]]
}

const endAll = async (...all: readonly Wrapped[]): Promise<void> => {
  for (const one of all) expect(await one.end()).toBe(0)
}
const initializations = ({ lines }: Wrapped): number =>
  lines.filter((line) => line.includes('"serverInfo"')).length

function expectOneJournal({ data }: Place): void {
  expect(verified(data)).toEqual({ status: 'valid', bad: [] })
  expect(new Set(journalOf(data).map(({ origin }) => origin)).size).toBe(1)
}

it('counts the calls of two instances together', async () => {
  const place = fresh()
  const tools = 'echo: {constraints: {once: {count: {max: 1, window: 24h}}}}'
  const config = filesIn(place.root, { tools })
  const [first, second] = await startMany(place, 2, [
    ...['--config', config, '--name', 'scripted', '--admin-port', '0'],
  ])
  const answers = await Promise.all([first, second].map((one) => one.call('echo')))
  expect(answers.filter(({ result }) => result.isError !== true).length).toBe(1)
  expect(endsOf(place.data).toSorted()).toEqual(['blocked none', 'executed confirmed'])
  expect(receivedIn(place.log).filter(({ method }) => method === 'tools/call').length).toBe(1)
  await endAll(second, first)
  expectOneJournal(place)
})

it('knows the idempotency keys of one instance in the other', async () => {
  const place = fresh()
  const config = filesIn(place.root, { tools: 'echo: {also: {body: any}}' })
  const [first, second] = await startMany(place, 2, [
    ...['--config', config, '--name', 'scripted', '--admin-port', '0'],
  ])
  const key = { 'dev.capsulegate/idempotency-key': 'k1' }
  const [one, other] = [
    await first.call('echo', { n: 1 }, key),
    await second.call('echo', { n: 1 }, key),
  ]
  expect(textOf(other)).toBe(textOf(one))
  expect((await second.call('echo', { n: 2 }, key)).result).toMatchObject({ isError: true })
  expect(receivedIn(place.log).filter(({ method }) => method === 'tools/call').length).toBe(1)
  await endAll(first, second)
  expectOneJournal(place)
})

it('holds what one instance is shown against what the other was shown', async () => {
  const place = fresh()
  const first = start(place)
  await first.initialize()
  await first.request('tools/list')
  const second = start(place, [], 'describes otherwise')
  await second.initialize()
  const { result } = await second.request('tools/list')
  expect(result.tools.map(({ name }: { name: string }) => name)).not.toContain('echo')
  expect((await second.call('echo')).result).toMatchObject({ isError: true })
  // The first one's own process still describes it as it was accepted.
  expect(textOf(await first.call('echo'))).toBe('{}')
  expect(journalOf(place.data, 'TOOL_CHANGED').map(({ tool }) => tool)).toContain('echo')
  await endAll(first, second)
})

describe('when the instance that holds the folder is killed', () => {
  it('tells that the outcome is unknown, takes over, and concludes what was under way', async () => {
    const place = fresh()
    const [first, second] = await startMany(place, 2)
    const under = second.ask('tools/call', { name: 'hang', arguments: {} })
    await eventually(() => hasReached(place.log, 'hang'))
    first.signal('SIGKILL')
    const { error } = await second.answer(under)
    expect(error?.message).toMatch(/what became of it is unknown/)
    expect(await second.call('echo', { after: 1 })).toMatchObject({
      result: { content: [{ text: '{"after":1}' }] },
    })
    expect(initializations(second)).toBe(1)
    expect(receivedIn(place.log).filter(({ method }) => method === 'initialize').length).toBe(3)
    await endAll(second)
    expect(endsOf(place.data)).toEqual(['errored dispatched recovered', 'executed confirmed'])
    expectOneJournal(place)
  })

  it('serves all that are left', async () => {
    const place = fresh()
    const [first, ...others] = await startMany(place, 3)
    first.signal('SIGKILL')
    await first.exited
    // The first call may have gone to the one that was just killed, which nobody can tell from one that arrived.
    await Promise.all(others.map((one) => one.call('echo')))
    const told = await Promise.all(others.map((one, n) => one.call('echo', { n })))
    expect(told.map(textOf)).toEqual(['{"n":0}', '{"n":1}'])
    expect(others.map(initializations)).toEqual([1, 1])
    const fourth = start(place)
    await fourth.initialize()
    expect(textOf(await fourth.call('echo'))).toBe('{}')
    await endAll(fourth, ...others)
    expect(new Set(endsOf(place.data))).toEqual(new Set(['executed confirmed']))
    expect(endsOf(place.data).length).toBe(
      receivedIn(place.log).filter(({ method }) => method === 'tools/call').length,
    )
    expectOneJournal(place)
  })

  it('answers an initialize that nobody had answered', async () => {
    const place = fresh()
    const first = start(place)
    await first.initialize()
    const second = start(place, [], 'is slow to begin')
    const opened = second.initialize()
    await eventually(
      () => receivedIn(place.log).filter(({ method }) => method === 'initialize').length === 2,
    )
    first.signal('SIGKILL')
    expect((await opened).result.serverInfo.name).toBe('scripted')
    expect(textOf(await second.call('echo'))).toBe('{}')
    expect(second.messages.filter(({ id }) => id === 1).length).toBe(1)
    await endAll(second)
  })
})

describe('when the instance that holds the folder goes', () => {
  it.each(['SIGTERM', 'end'])('lets a call under way end, and hands over (%s)', async (how) => {
    const place = fresh()
    const [first, second] = await startMany(place, 2)
    const under = second.ask('tools/call', { name: 'wait', arguments: { ms: 50 } })
    await eventually(() => hasReached(place.log, 'wait'))
    if (how === 'SIGTERM') first.signal('SIGTERM')
    else first.child.stdin?.end()
    expect(textOf(await second.answer(under))).toBe('waited')
    expect((await first.exited).code).toBe(how === 'SIGTERM' ? 143 : 0)
    expect(textOf(await second.call('echo'))).toBe('{}')
    expect(initializations(second)).toBe(1)
    await endAll(second)
    expect(endsOf(place.data)).toEqual(['executed confirmed', 'executed confirmed'])
    expectOneJournal(place)
  })

  it('does not wait for a call that does not end, and says that its outcome is unknown', async () => {
    const place = fresh()
    const [first, second] = await startMany(place, 2)
    const under = second.ask('tools/call', { name: 'hang', arguments: {} })
    await eventually(() => hasReached(place.log, 'hang'))
    first.signal('SIGTERM')
    const answer = await second.answer(under)
    expect(answer.result).toMatchObject({
      isError: true,
      structuredContent: { verdict: 'errored' },
    })
    expect(await second.call('echo')).toMatchObject({ result: { content: [{ text: '{}' }] } })
    await endAll(second)
    expect(endsOf(place.data)).toEqual(['errored dispatched', 'executed confirmed'])
    expectOneJournal(place)
  })

  it('loses nothing that clients send meanwhile', async () => {
    const place = fresh()
    const [first, second, third] = await startMany(place, 3)
    const asked: number[] = []
    const send = setInterval(() => asked.push(second.ask('tools/call', { name: 'echo' })), 5)
    await eventually(() => asked.length > 20)
    first.signal('SIGTERM')
    await first.exited
    const at = asked.length
    await eventually(() => asked.length > at + 20)
    clearInterval(send)
    const answers = await Promise.all(asked.map((id) => second.answer(id)))
    const done = answers.filter(({ result }) => result?.isError !== true && result !== undefined)
    expect(answers.length).toBe(asked.length)
    expect(done.length).toBeGreaterThan(20)
    await endAll(second, third as Wrapped)
    const sent = receivedIn(place.log).filter(({ method }) => method === 'tools/call').length
    const dispatched = endsOf(place.data).filter((end) => !end.startsWith('engine_failure'))
    expect(dispatched.length).toBe(sent)
    expectOneJournal(place)
  })
})

describe('an instance that follows', () => {
  it('has the exit code, the signals and the stderr of its own command', async () => {
    const place = fresh()
    const [first] = await startMany(place, 1)
    const exits = start(place, [], 'exits', '3')
    expect(await exits.exited).toEqual({ code: 3, signal: null })
    const missing = wrap({ data: place.data, command: ['no-such-command-anywhere'] })
    expect((await missing.exited).code).toBe(127)
    expect(missing.stderr).toMatch(/no-such-command-anywhere cannot be started/)
    const stubborn = start(place, [], 'ignores SIGTERM', 'ignores EOF')
    await stubborn.initialize()
    const since = performance.now()
    stubborn.signal('SIGTERM')
    expect((await stubborn.exited).code).toBe(137)
    expect(performance.now() - since).toBeLessThan(1_000)
    expect(stubborn.stderr).toContain('SIGTERM ignored')
    await endAll(first)
  })

  it('ends with its client, also before the client has said anything', async () => {
    const place = fresh()
    const [first] = await startMany(place, 1)
    const second = start(place)
    expect(await second.end()).toBe(0)
    const third = start(place)
    await third.initialize()
    const last = third.ask('tools/call', { name: 'wait', arguments: { ms: 100 } })
    expect(await third.end()).toBe(0)
    expect(textOf(await third.answer(last))).toBe('waited')
    await endAll(first)
  })

  it('ends on a signal while its last call is waited for', async () => {
    const place = fresh()
    const [first, second] = await startMany(place, 2)
    second.ask('tools/call', { name: 'hang' })
    await eventually(() => hasReached(place.log, 'hang'))
    second.child.stdin?.end()
    second.signal('SIGTERM')
    expect((await second.exited).code).toBe(143)
    await endAll(first)
    expect(endsOf(place.data)).toEqual(['errored dispatched'])
  })
})

it('starts again while the one before is going', async () => {
  const place = fresh()
  for (let n = 0; n < 3; n++) {
    const early = start(place)
    if (n > 0) await early.initialize()
    early.signal('SIGTERM')
    const next = start(place)
    await next.initialize()
    expect(textOf(await next.call('echo', { n }))).toBe(`{"n":${n}}`)
    next.signal('SIGTERM')
    expect((await next.exited).code).toBe(143)
    await early.exited
  }
  expectOneJournal(place)
})
