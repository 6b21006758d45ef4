import { utf8 } from '../../../src/core/bytes/text.js'
import type { FunctionCall, ReadHttpCall } from '../../../src/core/call/call.js'
import type { ToolRule } from '../../../src/core/manifest/model.js'
import { httpCall, manifestOf } from '../../support/manifests.js'

/** Fixed calls of every kind, with what golden.json was computed from before calls moved to core. */
const { rules } = manifestOf(`id: com.acme.samples
upstream: payments
tools:
  plain:
    match: POST /v1/refunds
    args: {order: string, amount: decimal}
    irreversibility: one_way_consequential
  bound:
    match: POST /v1/bound
    args: {order: string}
    irreversibility: two_way
    bind_headers: [x-tenant, traceparent]
    forward_headers: [content-type, x-tenant, x-more, traceparent, idempotency-key]
  salted:
    match: POST /v1/salted
    args: {order: string}
    irreversibility: two_way
    digest_salt: tenant
  function:
    args: {order: string}
    irreversibility: two_way
  salted_function:
    args: {order: string}
    irreversibility: two_way
    digest_salt: tenant
`)

export const TENANT_SALT = 'a salt of this tenant'

export const AGENT = {
  kind: 'known',
  agent: 'support-bot',
  roles: ['support'],
  developer: 'acme/support-bot@1',
  by: [{ kind: 'token', sha256: 'ab'.repeat(32) }],
} as const
export const JWT_AGENT = { ...AGENT, by: [{ kind: 'jwt', issuer: 'https://issuer.test' }] } as const

export const ruleOf = (tool: string): ToolRule => {
  const found = rules.find((rule) => rule.tool === tool)
  if (found === undefined) throw new Error(`no rule for ${tool}`)
  return found
}

const http = (
  target: string,
  body: unknown,
  headers: readonly (readonly [string, string])[],
  more: Partial<Pick<ReadHttpCall, 'tool' | 'method'>> = {},
) => {
  const call = httpCall('POST', target, body, { headers, ...more })
  return { ...call, upstream: 'payments' }
}

const functionCall = (tool: string, text: string): FunctionCall => ({
  kind: 'function',
  tool,
  argumentsJson: utf8(text),
  caller: { bearer: null, certificate: null, asserted: 'support-bot', source: 'in-process' },
  idempotencyKey: null,
  approvalId: null,
  waitSeconds: 0,
})

const JSON_TYPE = ['content-type', 'application/json'] as const

export const SAMPLES = {
  plain: {
    rule: ruleOf('plain'),
    call: http('/v1/refunds', { order: 'a', amount: '5.00', note: 'é' }, [
      ['host', 'gate.test'],
      ['authorization', 'Bearer secret'],
      JSON_TYPE,
      ['accept', 'text/html'],
      ['accept', 'application/json'],
      ['idempotency-key', 'k-1'],
      ['traceparent', '00-aa-bb-01'],
      ['x-more', 'unlisted'],
    ]),
  },
  no_body: { rule: ruleOf('plain'), call: http('/v1/refunds?a=1', undefined, []) },
  two_types: {
    rule: ruleOf('plain'),
    call: http('/v1/refunds', '{"order":"b"}', [JSON_TYPE, ['content-type', 'text/plain']]),
  },
  no_text: {
    rule: ruleOf('plain'),
    call: http('/v1/refunds', new Uint8Array([0xff, 0xfe, 0]), [
      ['content-type', 'application/octet-stream'],
      ['content-encoding', 'gzip'],
    ]),
  },
  too_long_to_read: {
    rule: ruleOf('plain'),
    call: http('/v1/refunds', `"${'x'.repeat(64 * 1024)}"`, [JSON_TYPE]),
  },
  bound: {
    rule: ruleOf('bound'),
    call: http('/v1/bound?x=%20', { order: 'c' }, [
      ['x-tenant', 'one'],
      ['x-more', '2'],
      JSON_TYPE,
      ['x-tenant', 'two'],
      ['traceparent', '00-cc-dd-01'],
      ['idempotency-key', 'k-2'],
      ['__proto__', 'data'],
    ]),
  },
  salted: { rule: ruleOf('salted'), call: http('/v1/salted', { order: 'd' }, [JSON_TYPE]) },
  guarded: {
    rule: ruleOf('function'),
    call: http('/any/path', { order: 'e' }, [JSON_TYPE], { tool: 'function', method: 'PUT' }),
  },
  function: { rule: ruleOf('function'), call: functionCall('function', '{"order":"f"}') },
  salted_function: {
    rule: ruleOf('salted_function'),
    call: functionCall('salted_function', '{ "order" : "g" }'),
  },
} as const
