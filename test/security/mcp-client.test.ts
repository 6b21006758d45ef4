import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { fromUtf8 } from '../../src/core/bytes/text.js'
import { membersOf } from '../../src/core/json/spans.js'
import { readMessage } from '../../src/core/mcp/message.js'
import { readCall } from '../../src/mounts/mcp/call/read-call.js'
import { draws } from '../support/draws.js'
import { capsulesOf, scripted, type Wrapped, workshop } from '../support/mcp/wrapped.js'

/** A client that means harm: what is judged, what is recorded and what the server gets are the same octets. */
const { fresh, wrap, stopAll, remove } = workshop('mcp-client-')
const place = fresh()
let one: Wrapped
beforeAll(async () => {
  one = wrap({ data: place.data, command: scripted(place.log) })
  await one.initialize()
}, 60_000)
afterAll(async () => {
  await stopAll()
  remove()
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
/** The calls that reached the server, with their arguments as they stood. */
const reached = (): readonly { readonly name: string; readonly args: string | undefined }[] =>
  readFileSync(place.log, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"method":"tools/call"'))
    .map((line) => {
      const params = membersOf(line).find(({ name }) => name === 'params')?.value ?? '{}'
      const textIn = (wanted: string): string | undefined =>
        membersOf(params).find(({ name }) => name === wanted)?.value
      return { name: JSON.parse(textIn('name') ?? '""'), args: textIn('arguments') }
    })
/** Writes a line as it stands and waits for what comes back. */
async function answerTo(line: string) {
  const before = one.lines.length
  one.write(line)
  const found = await one.until(() => one.lines.slice(before)[0])
  return JSON.parse(found)
}

const ODD = [
  '{ "a" :1 ,\t"b": [ ] }',
  '{"n":1.0,"m":1e5,"big":123456789012345678901234567890,"tiny":-0,"e":1E+2}',
  '{"\\u0061":"\\u00e9\\ud83d\\ude00","b":"\\/","é":"é","e\\u0301":"é"}',
  '{"Name":1,"name":2,"NAME":3,"__proto__":{"a":1},"constructor":1}',
  '{"a":{"a":{"a":[[[[{"a":null}]]]]}}}',
  '{"name":"echo","arguments":{"x":1},"_meta":{"dev.capsulegate/approval":"x"}}',
  '{}',
]
it.each(ODD)('sends arguments as they are written: %s', async (args) => {
  const answer = await answerTo(
    `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"arguments":${args},"name":"echo"}}`,
  )
  expect(answer.result.isError).not.toBe(true)
  expect(reached().at(-1)).toEqual({ name: 'echo', args })
  const { effect } = capsulesOf(place.data).at(-1)
  expect(effect['dev.capsulegate.request_octets']).toMatchObject({ digest: sha256(args) })
})

const call = (params: string, id = '"x"'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`
it.each([
  ['a name twice', call('{"name":"echo","name":"who"}')],
  ['a name twice by an escape', call('{"name":"echo","n\\u0061me":"who"}')],
  ['an argument twice', call('{"name":"echo","arguments":{"a":1,"a":2}}')],
  ['an argument twice by an escape', call('{"name":"echo","arguments":{"a":1,"\\u0061":2}}')],
  ['a member of params that no protocol has', call('{"name":"echo","tool":"who"}')],
  ['a member of another case', call('{"name":"echo","Arguments":{}}')],
  ['params that are no object', call('["echo"]')],
  ['a name that is no text', call('{"name":1}')],
  ['a batch', `[${call('{"name":"echo"}')}]`],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"echo"}}'],
  ['a member beside the protocol', '{"jsonrpc":"2.0","id":1,"method":"ping","also":1}'],
  ['half a character', call('{"name":"echo","arguments":{"a":"\\ud800"}}')],
  ['id null', call('{"name":"echo"}', 'null')],
  ['a fraction as id', call('{"name":"echo"}', '1.5')],
  ['an exponent as id', call('{"name":"echo"}', '1e3')],
  ['a huge id', call('{"name":"echo"}', '123456789012345678901')],
  ['an object as id', call('{"name":"echo"}', '{}')],
])('refuses and records %s', async (_, line) => {
  const [sent, recorded] = [reached().length, capsulesOf(place.data).length]
  const answer = await answerTo(line)
  expect(answer.error.code).toBeLessThanOrEqual(-32600)
  expect(reached().length).toBe(sent)
  expect(capsulesOf(place.data).slice(recorded)).toMatchObject([
    { disposition: { verdict_class: 'denied' } },
  ])
})

it.each(['"text"', '"7"', '7', '-3', '0', '9007199254740991', '"\\u0000\\n \\ud83d\\ude00"', '""'])(
  'answers under the id %s',
  async (id) => {
    const answer = await answerTo(call('{"name":"echo"}', id))
    expect(answer).toMatchObject({ id: JSON.parse(id), result: { content: [{ text: '{}' }] } })
  },
)

it('refuses an id that is under way, and answers the first', async () => {
  const first = call('{"name":"wait","arguments":{"ms":300}}', '"same"')
  one.write(first)
  const second = await answerTo(call('{"name":"who"}', '"same"'))
  expect(second).toMatchObject({ error: { code: -32600 } })
  expect(second.id).toBeUndefined()
  expect((await one.answer('same')).result.content[0].text).toBe('waited')
  expect(reached().map(({ name }) => name)).not.toContain('who')
})

it('sends what the digest on record binds, whatever the client writes', async () => {
  const space = fc.constantFrom('', ' ', '\t', '  ')
  const textual = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
    fc
      .string()
      .map(
        (text) =>
          `"${[...text].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
      ),
  )
  const number = fc.constantFrom('0', '-0', '1.10', '1e2', '1E-7', '9'.repeat(40), '0.1000')
  const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(textual, number, fc.constantFrom('true', 'false', 'null')),
      fc.tuple(space, fc.array(tie('value'))).map(([s, all]) => `[${s}${all.join(`${s},`)}${s}]`),
      tie('object'),
    ),
    object: fc
      .tuple(space, fc.dictionary(fc.string({ unit: 'binary' }), tie('value'), { maxKeys: 4 }))
      .map(([s, all]) => {
        const members = Object.entries(all).map(([k, v]) => `${s}${JSON.stringify(k)}${s}:${s}${v}`)
        return `{${members.join(`${s},`)}${s}}`
      }),
  }))
  const given = fc.oneof(
    value.filter((text) => text.startsWith('{')),
    fc.constantFrom(...ODD),
    value,
  )
  let n = 0
  await fc.assert(
    fc.asyncProperty(given, fc.boolean(), async (args, nameFirst) => {
      const [sent, recorded] = [reached().length, capsulesOf(place.data).length]
      const named = '"name": "echo"'
      const params = nameFirst ? `${named},"arguments":${args}` : `"arguments":${args} , ${named}`
      const answer = await answerTo(call(`{${params}}`, `"p${++n}"`))
      const [capsule, ...more] = capsulesOf(place.data).slice(recorded)
      expect(more).toEqual([])
      const got = reached().slice(sent)
      expect(got.length).toBe(capsule.effect === undefined ? 0 : 1)
      for (const { args: received = '' } of got) {
        expect(received).toBe(args)
        const { digest, length } = capsule.effect['dev.capsulegate.request_octets']
        expect({ digest, length }).toEqual({
          digest: sha256(args),
          length: Buffer.byteLength(args),
        })
      }
      expect(answer.id ?? `p${n}`).toBe(`p${n}`)
    }),
    { numRuns: draws(2_000, 150) },
  )
}, 600_000)

describe('the state that a client carries', () => {
  const PREFIX = 'dev.capsulegate.'
  const stateOf = (text: string): string => `${PREFIX}${Buffer.from(text).toString('base64url')}`
  const read = (state: string) => {
    const params = { name: 'echo', arguments: { a: 1 }, requestState: state }
    const octets = Buffer.from(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    )
    const message = readMessage(octets, octets.length)
    if (!message.ok || message.message.kind !== 'request') throw new Error('unreadable')
    return readCall(message.message, new Set())
  }

  it.each([
    '"name":"who"',
    '"arguments":{"a":2}',
    '"_meta":{"x":1}',
    '"task":{},"name":"who"',
    '"n\\u0061me":"who"',
    '"task":{}},"name":"who","x":{"y":1',
    '"task":{}}',
    '"task":1,"task":2',
    '}',
    '"uri":"file:///etc"',
    '"requestState":"a","inputResponses":{},"arguments":{}',
  ])('cannot bring in %s', (more) => {
    const got = read(stateOf(JSON.stringify({ approval: 'x', more })))
    if (!got.ok) return
    // Not the gate's own state, then: it goes on as any member that the server may read.
    expect(got.resumes).toBe(false)
    expect(JSON.parse(`{${got.call.more}}`)).toEqual({ requestState: expect.any(String) })
    expect([
      got.call.name,
      fromUtf8(got.call.body.kind === 'read' ? got.call.body.bytes : new Uint8Array()),
    ]).toEqual(['echo', '{"a":1}'])
  })

  it('brings in members of the protocol only, whatever stands in it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => text.slice(1, -1)),
        ),
        (more) => {
          const got = read(stateOf(JSON.stringify({ approval: 'x', more })))
          if (!got.ok) return
          const members = Object.keys(JSON.parse(`{${got.call.more}}`))
          for (const name of members)
            expect(['task', 'inputResponses', 'requestState']).toContain(name)
          expect(got.call.more).not.toMatch(/[\n\r]/)
        },
      ),
      { numRuns: draws(20_000, 500) },
    )
  })

  it('of the gate is for the gate: a server does not get it', () => {
    const got = read(stateOf(JSON.stringify({ approval: 'x', more: '"task":{"ttl":1}' })))
    expect(got).toMatchObject({
      ok: true,
      resumes: true,
      call: { approvalId: 'x', more: '"task":{"ttl":1}' },
    })
  })
})
