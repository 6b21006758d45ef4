import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { notificationOctets } from '../../../src/core/mcp/message.js'
import { FREELY, HEAD, messageOf, noneOf, open, sending, text } from './harness.js'

const sha256 = (data: Uint8Array | string): string =>
  createHash('sha256').update(data).digest('hex')
const RULE = { success: { status: [], unless: [] }, saltedDigest: null }

describe('a request', () => {
  it('is answered by the line under its id, and that line is what is witnessed', async () => {
    const { ask, faults } = open('echo')
    const received = messageOf(await ask(1, '{"a":1.50}'))
    expect(text(received.octets)).toBe('{"jsonrpc":"2.0","id":1,"result":{"a":1.5}}')
    const seen = received.observe(RULE)
    expect(seen).toMatchObject({ kind: 'complete', outcome: 'succeeded' })
    if (seen.kind !== 'complete') return
    expect(seen.response.seen).toMatchObject({
      framing: 'line',
      requestSent: true,
      octets: { digest: sha256(received.octets), length: received.octets.length, complete: true },
    })
    expect(faults).toEqual([])
  })

  it('finds its answer among those to others, whatever their order', async () => {
    const { ask, faults } = open('one behind')
    const answers = [1, 2, 3, 4].map((id) => ask(id))
    const texts = await Promise.all(answers.slice(0, 3))
    expect(texts.map((received) => JSON.parse(text(messageOf(received).octets)).id)).toEqual([
      1, 2, 3,
    ])
    expect(faults).toEqual([])
  })

  it('is answered though every octet came by itself', async () => {
    const { ask, faults } = open('split')
    const received = messageOf(await ask(1, '{"text":"€😀"}'))
    expect(JSON.parse(text(received.octets)).result).toEqual({ text: '€😀' })
    expect(faults).toEqual([])
  })

  it('keeps the CR of a line that ends in CRLF; blank lines say nothing', async () => {
    const { ask, faults } = open('crlf')
    const received = messageOf(await ask(1))
    expect(text(received.octets)).toBe('{"jsonrpc":"2.0","id":1,"result":{}}\r')
    messageOf(await ask(2))
    expect(faults).toEqual([])
  })

  it('and its answer may be larger than the pipe', async () => {
    const { ask } = open('echo', { maxMessageBytes: 8 << 20 })
    const long = 'x'.repeat(4 << 20)
    const answers = await Promise.all([1, 2, 3].map((id) => ask(id, `{"long":"${long}"}`)))
    for (const answer of answers) expect(messageOf(answer).octets.length).toBeGreaterThan(4 << 20)
  })

  it('of two lines does not leave', async () => {
    const { connection, ask } = open('echo')
    const two = { ...sending(1), octets: Buffer.from('{"jsonrpc":"2.0"}\n{"evil":true}') }
    const observation = noneOf(await connection.request(two, FREELY))
    expect(observation).toMatchObject({ kind: 'not_sent', cause: 'unsendable_request' })
    messageOf(await ask(2))
  })

  it('under an id that is under way does not leave', async () => {
    const { ask } = open('one behind')
    const first = ask(1)
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'not_sent', cause: 'id_in_use' })
    const second = ask(2)
    messageOf(await first)
    void second
  })
})

describe('what the server says by itself', () => {
  it('is told: requests under any id, and notifications', async () => {
    const { ask, messages, faults } = open('asks')
    messageOf(await ask(1))
    expect(messages).toEqual(['{"jsonrpc":"2.0","id":1,"method":"roots/list"}'])
    expect(faults).toEqual([])
  })

  it('comes after what it was told', async () => {
    const { connection, messages, until } = open('silent')
    connection.tell(notificationOctets('notifications/initialized', ''), HEAD)
    connection.tell(notificationOctets('notifications/cancelled', '{}'), HEAD)
    await until(() => messages.length === 2)
    expect(messages.map((message) => JSON.parse(message).params.read)).toEqual([
      'notifications/initialized',
      'notifications/cancelled',
    ])
  })
})

describe('a server that breaks the protocol', () => {
  it('by a second answer, is told of; the first holds', async () => {
    const { ask, faults, until } = open('twice')
    messageOf(await ask(1))
    await until(() => faults.length === 1)
    expect(faults).toEqual(['answered_twice'])
  })

  it('by an answer that nobody asked for, is told of; the right one holds', async () => {
    const { ask, faults } = open('another id')
    expect(JSON.parse(text(messageOf(await ask(1)).octets)).id).toBe(1)
    expect(faults).toEqual(['answered_unasked'])
  })

  it('by what is no message, is told of, and goes on', async () => {
    const { ask, faults, messages } = open('garbage')
    messageOf(await ask(5))
    expect(faults).toEqual([
      'message_not_json',
      'message_batched',
      'message_batched',
      'message_names_twice',
      'message_not_rpc',
      'message_not_json',
    ])
    expect(messages).toEqual([])
  })

  it('without end, is told of a few times, is still served, and is counted', async () => {
    const { ask, faults, reports, connection, until } = open('garbage without end')
    await until(() => faults.length >= 64)
    messageOf(await ask(1))
    expect(faults.length).toBeLessThan(200)
    await connection.close()
    expect(reports).toMatchObject([{ event: 'mcp_faults' }])
  })

  it('by a line without end, is ended at once', async () => {
    const { ask, faults, closed } = open('long line', { maxMessageBytes: 100_000 })
    const observation = noneOf(await ask(1))
    expect(observation).toMatchObject({ kind: 'sent', cause: 'message_too_long', deadline: false })
    expect(await closed).toMatchObject({ why: 'message_too_long', signal: 'SIGKILL' })
    expect(faults).toEqual(['message_too_long'])
    expect(noneOf(await ask(2))).toMatchObject({ kind: 'not_sent', cause: 'message_too_long' })
  })
})

describe('an answer without its end', () => {
  it('is none: the last line has no LF', async () => {
    const { ask, closed } = open('no LF at the end')
    const whole = '{"jsonrpc":"2.0","id":1,"result":{}}'
    expect(noneOf(await ask(1))).toEqual({
      kind: 'sent',
      cause: 'child_gone',
      deadline: false,
      partial: { digest: sha256(whole), length: whole.length },
    })
    expect(await closed).toEqual({ why: 'exited', code: 0, signal: null })
  })

  it('is none: the process died within it', async () => {
    const { ask, closed, closes } = open('dies in a line')
    const both = await Promise.all([ask(1), ask(2)])
    expect(both.map((received) => noneOf(received).cause)).toEqual(['child_gone', 'child_gone'])
    expect(await closed).toEqual({ why: 'exited', code: null, signal: 'SIGKILL' })
    expect(noneOf(await ask(3))).toMatchObject({ kind: 'not_sent' })
    expect(closes()).toBe(1)
  })

  it('is one, when the process exits behind it', async () => {
    const { ask, closed } = open('answers and exits')
    messageOf(await ask(1))
    expect(await closed).toEqual({ why: 'exited', code: 3, signal: null })
  })
})
