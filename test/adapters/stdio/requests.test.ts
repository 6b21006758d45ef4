import { describe, expect, it } from '@jest/globals'
import { notificationOctets } from '../../../src/core/mcp/message.js'
import { FREELY, HEAD, messageOf, noneOf, open } from './harness.js'

/** More than a pipe takes at once. */
const LONG = `{"long":"${'x'.repeat(4 << 20)}"}`
const LARGE = { maxMessageBytes: 8 << 20 }

describe('before the first octet', () => {
  it('a request that is no longer allowed stays', async () => {
    const { ask, messages, until } = open('silent')
    const control = { stillAllowed: () => false, totalMs: 0 }
    expect(noneOf(await ask(1, '{}', control))).toEqual({
      kind: 'not_sent',
      cause: 'withdrawn',
      deadline: false,
    })
    void ask(2)
    await until(() => messages.length > 0)
    expect(messages).toHaveLength(1)
  })

  it('a check that throws has not said yes', async () => {
    const { ask } = open('echo')
    const control = {
      totalMs: 0,
      stillAllowed() {
        throw new Error('state is gone')
      },
    }
    expect(noneOf(await ask(1, '{}', control))).toMatchObject({ cause: 'withdrawn' })
  })

  it('the check is made when the pipe is free, not when the request is given', async () => {
    const { ask } = open('deaf', LARGE)
    const first = new AbortController()
    const stuck = ask(1, LONG, { ...FREELY, signal: first.signal })
    let asked = 0
    const waiting = ask(2, '{}', {
      totalMs: 1,
      stillAllowed: () => {
        asked++
        return true
      },
    })
    expect(noneOf(await waiting)).toEqual({
      kind: 'not_sent',
      cause: 'total_deadline',
      deadline: true,
    })
    expect(asked).toBe(0)
    first.abort()
    expect(noneOf(await stuck)).toEqual({ kind: 'sent', cause: 'cancelled', deadline: false })
  })

  it('a request whose caller has left stays', async () => {
    const { ask } = open('deaf', LARGE)
    void ask(1, LONG)
    const leaving = new AbortController()
    const waiting = ask(2, '{}', { ...FREELY, signal: leaving.signal })
    leaving.abort()
    expect(noneOf(await waiting)).toMatchObject({ kind: 'not_sent', cause: 'cancelled' })
    const gone = { ...FREELY, signal: AbortSignal.abort() }
    expect(noneOf(await ask(3, '{}', gone))).toMatchObject({ kind: 'not_sent', cause: 'cancelled' })
  })
})

describe('after the first octet', () => {
  it('a deadline ends it as sent, and its late answer is no fault', async () => {
    const { ask, faults } = open('one behind')
    expect(noneOf(await ask(1, '{}', { ...FREELY, totalMs: 50 }))).toEqual({
      kind: 'sent',
      cause: 'total_deadline',
      deadline: true,
    })
    const second = ask(2)
    const third = ask(3)
    messageOf(await second)
    expect(faults).toEqual([])
    void third
  })

  it('a caller that leaves ends it as sent, and its late answer is no fault', async () => {
    const { ask, messages, faults, until, connection } = open('silent')
    const leaving = new AbortController()
    const cancelled = ask(1, '{}', { ...FREELY, signal: leaving.signal })
    await until(() => messages.length === 1)
    leaving.abort()
    expect(noneOf(await cancelled)).toMatchObject({ kind: 'sent', cause: 'cancelled' })
    await connection.close()
    expect(faults).toEqual([])
  })

  it('an answer that comes before the request has wholly left is none', async () => {
    const { ask, faults } = open('early', LARGE)
    expect(noneOf(await ask(1, LONG))).toEqual({
      kind: 'sent',
      cause: 'early_answer',
      deadline: false,
    })
    expect(faults).toEqual([])
  })
})

describe('a server that does not read', () => {
  it('is not told without bound', async () => {
    const { ask, connection, reports } = open('deaf', LARGE)
    void ask(1, LONG)
    const octets = notificationOctets('notifications/message', LONG)
    for (let i = 0; i < 5; i++) connection.tell(octets, HEAD)
    await connection.close()
    expect(reports).toMatchObject([{ event: 'mcp_messages_lost' }])
    expect(reports[0]?.detail).toContain('4 messages')
  })

  it('because it closed its stdin, is over: what waits was not sent', async () => {
    const { ask, messages, until, closed } = open('closes stdin')
    await until(() => messages.length === 1)
    const [first, second] = await Promise.all([ask(1), ask(2)])
    expect(noneOf(first)).toMatchObject({ kind: 'sent', cause: 'stdin_closed' })
    expect(noneOf(second)).toMatchObject({ kind: 'not_sent', cause: 'stdin_closed' })
    expect(noneOf(await ask(3))).toMatchObject({ kind: 'not_sent', cause: 'stdin_closed' })
    expect(await closed).toMatchObject({ why: 'stdin_closed', signal: 'SIGTERM' })
  })
})

it('a server that closes its stdout answers nothing more, and is ended', async () => {
  const { ask, closed } = open('closes stdout')
  expect(noneOf(await ask(1))).toMatchObject({ kind: 'sent', cause: 'child_gone' })
  expect(await closed).toMatchObject({ signal: 'SIGTERM', why: 'stdout_closed' })
})
