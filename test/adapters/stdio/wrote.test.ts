import { createHash } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { isObject } from '../../../src/core/json/value.js'
import { readMessage } from '../../../src/core/mcp/message.js'
import { FREELY, messageOf, noneOf, open, sending, text } from './harness.js'

const LARGE = { maxMessageBytes: 8 << 20 }
/** More than a pipe takes at once. */
const LONG = `{"long":"${'x'.repeat(4 << 20)}"}`

function listening() {
  const said: Uint8Array[] = []
  return { said, control: { ...FREELY, wrote: (octets: Uint8Array) => void said.push(octets) } }
}
const lineDigest = (octets: Uint8Array): string =>
  createHash('sha256').update(octets).update('\n').digest('hex')

/** The digest of all that the process has read until it answered. */
function readBy(octets: Uint8Array): unknown {
  const read = readMessage(octets, 1 << 20)
  const body = read.ok && read.message.kind === 'response' ? read.message.body : null
  if (body?.kind !== 'result' || !isObject(body.value)) throw new Error(text(octets))
  return body.value.get('read')
}

it.each([
  ['a small one', '{"a":"\u00e9"}'],
  ['one that a pipe does not take at once', LONG],
])('the process reads the very octets that are told, and a line feed: %s', async (_, params) => {
  const { ask } = open('digest', LARGE)
  const { said, control } = listening()
  const { octets } = messageOf(await ask(1, params, control))
  expect(said).toHaveLength(1)
  expect(readBy(octets)).toBe(lineDigest(said[0] as Uint8Array))
  expect(text(said[0] as Uint8Array)).toBe(text(sending(1, params).octets))
})

it('each of several messages is told when its turn comes, and stays what it was', async () => {
  const { ask } = open('digest', LARGE)
  const { said, control } = listening()
  const params = [LONG, '{"n":2}', '{"n":3}']
  const answers = params.map((given, index) => ask(index + 1, given, control))
  expect(said).toHaveLength(1)
  const digests = (await Promise.all(answers)).map((answer) => readBy(messageOf(answer).octets))
  expect(said.map(lineDigest)).toEqual(digests)
})

it('a message whose answer never comes is told all the same', async () => {
  const { ask } = open('dies in a line')
  const { said, control } = listening()
  expect(noneOf(await ask(1, '{}', control))).toMatchObject({ kind: 'sent' })
  expect(said.map(text)).toEqual([text(sending(1).octets)])
})

it('a message that does not leave is not told', async () => {
  const { ask, connection } = open('deaf', LARGE)
  const { said, control } = listening()
  const withdrawn = { ...control, stillAllowed: () => false }
  expect(noneOf(await ask(1, '{}', withdrawn))).toMatchObject({ cause: 'withdrawn' })
  void ask(2, LONG)
  const late = await ask(3, '{}', { ...control, totalMs: 1 })
  expect(noneOf(late)).toMatchObject({ kind: 'not_sent', cause: 'total_deadline' })
  const split = { ...sending(4), octets: Buffer.from('{}\n{}') }
  expect(noneOf(await connection.request(split, control))).toMatchObject({
    cause: 'unsendable_request',
  })
  expect(said).toEqual([])
})

it('nothing is told where the process cannot be started', async () => {
  const { ask } = open('echo', { command: '/nowhere/to/be/found' })
  const { said, control } = listening()
  expect(noneOf(await ask(1, '{}', control))).toMatchObject({ kind: 'not_sent' })
  expect(said).toEqual([])
})
