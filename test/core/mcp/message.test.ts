import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import { readMessage } from '../../../src/core/mcp/message.js'
import { OWN_PREFIX, withMeta } from '../../../src/core/mcp/meta.js'
import { witnessMessage } from '../../../src/core/mcp/witness.js'
import { rowOf } from '../../../src/core/verdict/verdict.js'

const read = (text: string) => readMessage(utf8(text), 1 << 20)

describe('a JSON-RPC message', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 'request'],
    ['{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', 'request'],
    ['{"jsonrpc":"2.0","method":"notifications/x"}', 'notification'],
    ['{"jsonrpc":"2.0","id":0,"result":{}}', 'response'],
    ['{"jsonrpc":"2.0","id":-3,"error":{"code":-1,"message":"x"}}', 'response'],
  ])('%s is a %s', (text, kind) => {
    const got = read(text)
    expect(got.ok && got.message.kind).toBe(kind)
  })

  it.each([
    ['[]', 'message_batched'],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 'message_batched'],
    ['{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":2}}', 'message_names_twice'],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}', 'message_names_twice'],
    ['nope', 'message_not_json'],
    ['"ping"', 'message_not_rpc'],
    ['{"jsonrpc":"1.0","id":1,"method":"a"}', 'message_not_rpc'],
    ['{"id":1,"method":"a"}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":null,"method":"a"}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1.5,"method":"a"}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1e0,"method":"a"}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":{},"method":"a"}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1,"method":""}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1,"method":"a","params":[]}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1,"method":"a","result":{}}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1}', 'message_not_rpc'],
    ['{"jsonrpc":"2.0","id":1,"method":"a","more":1}', 'message_not_rpc'],
  ])('%s is none: %s', (text, fault) => {
    expect(read(text)).toMatchObject({ ok: false, fault })
  })

  it('tells the id 1 from the id "1", and an id from its escaped spelling not', () => {
    const key = (text: string): string => {
      const got = read(`{"jsonrpc":"2.0","id":${text},"method":"a"}`)
      return got.ok && got.message.kind === 'request' ? got.message.id.key : ''
    }
    expect(key('1')).not.toBe(key('"1"'))
    expect(key('"a"')).toBe(key('"\\u0061"'))
  })

  it('has line breaks between tokens as spaces, and none of its strings touched', () => {
    const got = read('{"jsonrpc":"2.0",\n"id":1,"method":"a","params":{\r\n"x":"a\\nb"}}')
    expect(got.ok && got.message.kind === 'request' && got.message.params.members[0]?.text).toBe(
      '"x":"a\\nb"',
    )
  })
})

describe('_meta', () => {
  const passed = (meta: string, listed: string[] = []) => {
    const got = read(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":${meta},"b":1}}`)
    if (!got.ok || got.message.kind !== 'request') throw new Error('no request')
    return JSON.parse(withMeta(got.message.params.members, new Set(listed)))
  }
  it('passes the protocol’s keys, traces and what is listed, and never the gate’s own', () => {
    const own = `${OWN_PREFIX}capsule`
    const meta = JSON.stringify({
      'io.modelcontextprotocol/x': 1,
      traceparent: 't',
      progressToken: 7,
      'com.acme/y': 2,
      'com.acme/z': 3,
      [own]: 'forged',
      x: 4,
    })
    expect(passed(meta, ['com.acme/y', own])).toEqual({
      b: 1,
      _meta: { 'io.modelcontextprotocol/x': 1, traceparent: 't', 'com.acme/y': 2 },
    })
    expect(passed('{"x":1}')).toEqual({ b: 1 })
    expect(passed('"text"')).toEqual({ b: 1 })
  })
})

describe('what an answer amounts to', () => {
  const RULE = {
    success: { status: [], unless: [{ pointer: '/failed', op: 'exists' as const }] },
    saltedDigest: null,
  }
  const row = (body: string) =>
    rowOf(witnessMessage(utf8(`{"jsonrpc":"2.0","id":1,${body}}`), 'line', RULE, nodeCrypto))
  it.each([
    ['"result":{"content":[]}', 'executed'],
    ['"result":{"content":[],"resultType":"complete"}', 'executed'],
    ['"result":{"content":[],"isError":false}', 'executed'],
    ['"result":{"content":[],"isError":true}', 'tool_refused'],
    ['"result":{"failed":"yes"}', 'tool_refused'],
    ['"error":{"code":-32600,"message":""}', 'tool_refused'],
    ['"error":{"code":-32601,"message":""}', 'tool_refused'],
    ['"error":{"code":-32602,"message":""}', 'tool_refused'],
    ['"error":{"code":-32603,"message":""}', 'tool_failed'],
    ['"error":{"code":1,"message":""}', 'tool_failed'],
    ['"error":{}', 'tool_failed'],
    ['"result":[]', 'tool_failed'],
    ['"result":{"resultType":"input_required"}', 'unfinished'],
    ['"result":{"resultType":"task","taskId":"t"}', 'unfinished'],
    ['"result":{"resultType":"whatever"}', 'unfinished'],
    ['"result":{"task":{"taskId":"t","status":"working"}}', 'unfinished'],
    ['"result":{"task":{"taskId":"t"},"content":[]}', 'executed'],
  ])('%s is %s', (body, expected) => {
    expect(row(body)).toBe(expected)
  })
})
