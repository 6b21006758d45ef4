import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../../src/adapters/crypto-node.js'
import type { Plain } from '../../../../src/core/json/value.js'
import { claimOf } from '../../../../src/core/manifest/constraint/claims.js'
import { consequence, evaluate } from '../../../../src/core/manifest/constraint/evaluate.js'
import {
  evidenceDigest,
  evidenceOf,
  rederive,
} from '../../../../src/core/manifest/constraint/evidence.js'
import {
  type Facts,
  type Inputs,
  selectInputs,
} from '../../../../src/core/manifest/constraint/inputs.js'
import { resolveThreshold } from '../../../../src/core/manifest/constraint/leaves.js'
import { judge, needsClaim } from '../../../../src/core/manifest/constraint/predicates.js'
import { runTests } from '../../../../src/core/manifest/constraint/run-tests.js'
import { manifestDigest } from '../../../../src/core/manifest/expand/expand.js'
import type { Constraint, Manifest } from '../../../../src/core/manifest/model.js'
import { match } from '../../../../src/core/manifest/route/match.js'
import { readArgs } from '../../../../src/core/manifest/route/read-args.js'
import { httpCall, manifestOf, routerOf } from '../../../support/manifests.js'

const ID = 'com.acme.x.c'
const NOON = '2026-01-05T12:00:00.000Z' // a Monday
const HELLO = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'

const text = (constraint: string): string => `id: com.acme.x
tools:
  t:
    match: POST /t
    args: {amount: "decimal?", currency: "string?", n: "integer?", ok: "boolean?", tags: "strings?", url: "string?"}
    constraints:
      c: ${constraint}
`
function constraintOf(short: string): Constraint {
  const constraint = manifestOf(text(short)).constraints[ID]
  if (constraint === undefined) throw new Error('no constraint')
  return constraint
}
function factsOf(short: string, body: unknown): Facts {
  const call = httpCall('POST', '/t', body)
  const matched = match(routerOf(text(short)), call)
  if (!matched.ok) throw new Error(matched.detail)
  const read = readArgs(matched, call)
  if (!read.ok) throw new Error(`${read.code}: ${read.detail}`)
  return { args: read.args, body: read.body, agent: 'bot', operator: 'local', tool: 't' }
}
const judged = (short: string, body: unknown, now = NOON, prior: string | null = null) =>
  evaluate(ID, constraintOf(short), factsOf(short, body), { now, prior }, nodeCrypto)

describe('patterns in schemas', () => {
  it('each counts as itself, whatever was compiled before it', () => {
    for (const [pattern, fits, not] of [
      ['^[A-Z]{3}$', 'EUR', 'eur'],
      ['^[a-z]{3}$', 'eur', 'EUR'],
      ['^[0-9]+$', '12', 'EUR'],
    ]) {
      const short = `{currency: {schema: {type: string, pattern: "${pattern}"}}}`
      expect(judged(short, { currency: fits }).result).toBe('pass')
      expect(judged(short, { currency: not }).result).toBe('fail')
    }
  })

  it('inputs that break the pattern of the evidence schema are an error', () => {
    const own =
      '{predicate: {kind: exists, input: c}, select: {c: currency}, evidence_schema: {type: object, properties: {c: {type: string, pattern: "^[A-Z]{3}$"}}}}'
    expect(judged(own, { currency: 'EUR' }).result).toBe('pass')
    expect(judged(own, { currency: 'euro' }).result).toBe('error')
  })
})

describe('each kind passes, fails and errs', () => {
  it.each<[string, unknown, unknown, unknown]>([
    ['{amount: {lte: "500.00"}}', { amount: '500' }, { amount: '500.01' }, {}],
    ['{amount: {lt: "0.3"}}', '{"amount":0.29999999999999999999}', '{"amount":0.30}', {}],
    ['{amount: {gt: "0.3"}}', '{"amount":0.30000000000000000001}', '{"amount":0.3}', {}],
    ['{amount: {gte: 1}}', { amount: '1.0' }, { amount: '0.99' }, {}],
    ['{amount: {eq: "1.50"}}', '{"amount":1.5}', { amount: '1.51' }, {}],
    ['{amount: {ne: "1.50"}}', { amount: '1.51' }, '{"amount":1.500}', {}],
    [
      '{n: {lte: 9007199254740992}}'.replace('9007199254740992', '"9007199254740992"'),
      '{"n":9007199254740992}',
      '{"n":9007199254740993}',
      {},
    ],
    [
      '{amount: {lte: {by: currency, of: {EUR: "460.00", USD: "500.00"}}}}',
      { amount: '480', currency: 'USD' },
      { amount: '480', currency: 'EUR' },
      { amount: '1', currency: 'JPY' },
    ],
    ['{currency: {equals: EUR}}', { currency: 'EUR' }, { currency: 'eur' }, {}],
    ['{ok: {equals: true}}', { ok: true }, { ok: false }, {}],
    ['{n: {equals: 5}}', { n: 5 }, { n: 6 }, {}],
    ['{currency: {in: [EUR, USD]}}', { currency: 'USD' }, { currency: 'JPY' }, {}],
    ['{n: {in: [1, 2]}}', { n: 2 }, { n: 3 }, {}],
    ['{tags: {in: [a, b]}}', { tags: ['a', 'b'] }, { tags: ['a', 'c'] }, {}],
    ['{tags: {not_in: [x]}}', { tags: [] }, { tags: ['a', 'x'] }, {}],
    ['{currency: {not_in: [XXX]}}', { currency: 'EUR' }, { currency: 'XXX' }, {}],
    ['{currency: {matches: "[A-Z]{3}"}}', { currency: 'EUR' }, { currency: 'EUR\n' }, {}],
    ['{currency: {matches: "a|b"}}', { currency: 'b' }, { currency: 'ab' }, {}],
    ['{currency: {length: {min: 1, max: 2}}}', { currency: '😀é' }, { currency: '' }, {}],
    ['{tags: {length: {max: 1}}}', { tags: [] }, { tags: ['a', 'b'] }, {}],
    ['{n: {range: {min: -1, max: 3}}}', { n: -1 }, { n: 4 }, {}],
    ['{currency: {exists: true}}', { currency: '' }, {}, null],
    ['{currency: {absent: true}}', {}, { currency: 'EUR' }, null],
    ['{currency: {if_present: {length: {max: 3}}}}', {}, { currency: 'EURO' }, null],
    [
      '{url: {host_in: [api.acme.com, "api.acme.com:8443"]}}',
      { url: 'https://API.acme.com:8443/x' },
      { url: 'https://api.acme.com.evil.com/' },
      { url: 'https://api.acme.com@evil.com/' },
    ],
    [`{url: {sha256: ${HELLO}}}`, { url: 'hello' }, { url: 'Hello' }, {}],
    [
      `{$body: {schema: {type: object, required: [a], properties: {a: {type: number, maximum: 5}}}}}`,
      '{"a":4.5}',
      '{"a":5.5}',
      '{"a":5.00000000000000000001}',
    ],
    ['{tags: {schema: {type: array, maxItems: 1}}}', { tags: ['a'] }, { tags: ['a', 'b'] }, {}],
    ['{all: [{n: {gte: 1}}, {n: {lte: 2}}]}', { n: 2 }, { n: 3 }, {}],
    ['{any: [{n: {lte: 1}}, {n: {gte: 5}}]}', { n: 5 }, { n: 3 }, {}],
    ['{not: {n: {lte: 1}}}', { n: 2 }, { n: 1 }, {}],
    [
      '{n: {lte: 2}, currency: {equals: EUR}}',
      { n: 2, currency: 'EUR' },
      { n: 2, currency: 'USD' },
      { n: 3 },
    ],
  ])('%s', (short, pass, fail, errs) => {
    expect(judged(short, pass).result).toBe('pass')
    expect(judged(short, fail).result).toBe('fail')
    if (errs !== null) {
      const judgement = judged(short, errs)
      expect(judgement.result).toBe('error')
      expect(judgement.why).not.toBeNull()
    }
  })

  it('any error among the members is the error of the whole, whatever the others say', () => {
    const odd = { n: 1, url: 'no url' }
    expect(judged('{any: [{n: {lte: 1}}, {url: {host_in: [a.com]}}]}', odd).result).toBe('error')
    expect(judged('{all: [{n: {gte: 2}}, {url: {host_in: [a.com]}}]}', odd).result).toBe('error')
    expect(judged('{not: {url: {host_in: [a.com]}}}', odd).result).toBe('error')
    expect(judged('{any: [{n: {lte: 1}}, {currency: {equals: EUR}}]}', { n: 1 }).result).toBe(
      'error',
    )
    expect(judged('{all: [{n: {lte: 1}}, {currency: {equals: EUR}}]}', { n: 9 }).result).toBe(
      'error',
    )
    expect(judged('{not: {currency: {equals: EUR}}}', {}).result).toBe('error')
  })

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'a look-up by the agent’s %s finds no threshold',
    (currency) => {
      const short = '{amount: {lte: {by: currency, of: {EUR: "460.00"}}}}'
      expect(judged(short, JSON.stringify({ amount: '1', currency })).result).toBe('error')
    },
  )

  it('a look-up in a manifest that was only parsed finds nothing inherited either', () => {
    const thresholds = { max: { EUR: '1' } }
    const by = { threshold: 'max', by: 'c' }
    expect(resolveThreshold({ thresholds }, by, { c: 'EUR' })).toBe('1')
    for (const c of ['constructor', '__proto__', 'toString']) {
      expect(resolveThreshold({ thresholds }, by, { c })).toBeUndefined()
    }
  })

  it.each([
    'https://api.acme.com\\.evil.com/',
    'https://api.acme.com%2eevil.com',
    'https://api.acme.com.',
    'https:api.acme.com',
    'https:///api.acme.com',
    '//api.acme.com',
    'https://api.acme.com\t/',
    ' https://api.acme.com/',
    'https://api.acme.com。evil.com/',
    'javascript:api.acme.com',
    'https://user:pw@api.acme.com/',
    'https://api.acme.com:/',
    'https://api.acme.com:99999999/',
    'https://[::1]@api.acme.com',
    '',
  ])('the host of %j is not read', (url) => {
    expect(judged('{url: {host_in: [api.acme.com]}}', { url }).result).toBe('error')
  })

  it('a pattern that would take exponential time elsewhere takes linear time', () => {
    expect(judged('{url: {matches: "(a+)+b"}}', { url: 'a'.repeat(50_000) }).result).toBe('fail')
  })

  it('a schema that recurses without end is an error', () => {
    expect(judged('{$body: {schema: {$ref: "#"}}}', { n: 1 }).result).toBe('error')
  })

  it.each([
    ['{time: {from: "08:00", until: "18:00"}}', '2026-01-05T08:00:00.000Z', 'pass'],
    ['{time: {from: "08:00", until: "18:00"}}', '2026-01-05T17:59:59.999Z', 'pass'],
    ['{time: {from: "08:00", until: "18:00"}}', '2026-01-05T18:00:00.000Z', 'fail'],
    ['{time: {from: "08:00", until: "18:00", days: [mon]}}', '2026-01-06T09:00:00Z', 'fail'],
    ['{time: {from: "22:00", until: "06:00", days: [mon]}}', '2026-01-06T05:59:00Z', 'pass'],
    ['{time: {from: "22:00", until: "06:00", days: [mon]}}', '2026-01-05T05:59:00Z', 'fail'],
    ['{time: {from: "08:00", until: "08:00"}}', NOON, 'error'],
    ['{time: {from: "08:00", until: "18:00"}}', '2026-01-05T09:00:00+02:00', 'error'],
    ['{time: {from: "08:00", until: "18:00"}}', 'yesterday', 'error'],
  ])('%s at %s: %s', (short, now, result) => {
    expect(judged(short, {}, now).result).toBe(result)
  })
})

describe('windows', () => {
  const SUM = '{sum: {of: amount, max: "100.00", per: [$agent, currency], window: 24h}}'
  const claim = (short: string, body: unknown) => {
    const constraint = constraintOf(short)
    if (!needsClaim(constraint)) throw new Error('no window')
    return claimOf(ID, constraint, selectInputs(constraint, factsOf(short, body)), nodeCrypto)
  }

  it('become a claim with an exact amount and a digested scope', () => {
    const claimed = claim(SUM, { amount: '10.10', currency: 'EUR' })
    expect(claimed).toEqual({
      ok: true,
      claim: {
        constraint: ID,
        scope: expect.stringMatching(/^[0-9a-f]{64}$/),
        windowSeconds: 86_400,
        kind: 'sum',
        amount: '10.1',
        max: '100',
        advisory: false,
      },
    })
  })

  it.each([
    [SUM, '89.90', 'pass'],
    [SUM, '89.91', 'fail'],
    ['{count: {max: 3, per: [$agent], window: 1h}}', '2', 'pass'],
    ['{count: {max: 3, per: [$agent], window: 1h}}', '3', 'fail'],
    ['{dedupe: {per: [amount, currency], window: 10m}}', '0', 'pass'],
    ['{dedupe: {per: [amount, currency], window: 10m}}', '1', 'fail'],
  ])('%s after %s: %s', (short, prior, result) => {
    expect(judged(short, { amount: '10.10', currency: 'EUR' }, NOON, prior).result).toBe(result)
  })

  it('are an error without a reading, with a missing scope, and for a negative amount', () => {
    expect(judged(SUM, { amount: '1', currency: 'EUR' }).result).toBe('error')
    expect(judged(SUM, { amount: '1' }, NOON, '0').result).toBe('error')
    expect(judged(SUM, { amount: '-1', currency: 'EUR' }, NOON, '0').result).toBe('error')
    expect(claim(SUM, { amount: '-1', currency: 'EUR' }).ok).toBe(false)
    expect(judged(SUM, { amount: '1', currency: 'EUR' }, NOON, 'lots').result).toBe('error')
  })

  it('have one scope for two spellings of an amount, and two for two values', () => {
    const scope = (amount: string) => {
      const claimed = claim('{dedupe: {per: [amount], window: 10m}}', { amount })
      return claimed.ok ? claimed.claim.scope : null
    }
    expect(scope('10.00')).toBe(scope('10'))
    expect(scope('10.00')).not.toBe(scope('10.01'))
  })
})

describe('judging is total and deterministic', () => {
  const kinds = [
    '{amount: {lte: "500.00"}}',
    '{amount: {lte: {by: currency, of: {EUR: "460.00"}}}}',
    '{tags: {in: [a]}, url: {host_in: [a.com]}}',
    '{currency: {matches: "[A-Z]+"}, n: {range: {min: 1}}}',
    '{$body: {schema: {type: object}}}',
    '{time: {from: "08:00", until: "18:00", days: [mon]}}',
    '{sum: {of: amount, max: "5", per: [currency], window: 1h}}',
    '{any: [{currency: {if_present: {length: {max: 2}}}}, {not: {ok: {equals: true}}}]}',
    `{url: {sha256: ${HELLO}}}`,
  ].map(constraintOf)

  it('for any JSON tree as inputs, with and without the evidence schema', () => {
    const tree = fc.letrec<{ value: Plain }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constant(null),
        fc.boolean(),
        fc.string({ unit: 'binary' }),
        fc.integer(),
        fc.double(),
        fc.constantFrom('\ud800', Number.NaN, 2 ** 60),
        fc.constantFrom('1', '1.5', '-0', '1e5', NOON, 'https://a.com/', 'EUR'),
        fc.array(tie('value')),
        fc.dictionary(
          fc.oneof(fc.constantFrom('count', 'items', 'scope', 'prior'), fc.string()),
          tie('value'),
        ),
      ),
    })).value
    const names = fc.constantFrom(
      'amount',
      'currency',
      'n',
      'ok',
      'tags',
      'url',
      '$body',
      '$now',
      '$window',
    )
    fc.assert(
      fc.property(
        fc.dictionary(names, tree),
        fc.constantFrom(...kinds),
        fc.boolean(),
        (inputs, kind, open) => {
          const constraint = open ? { ...kind, evidence_schema: true } : kind
          const before = JSON.stringify(inputs)
          const first = judge(ID, constraint, inputs as Inputs, nodeCrypto)
          expect(['pass', 'fail', 'error']).toContain(first.result)
          expect(judge(ID, constraint, inputs as Inputs, nodeCrypto)).toEqual(first)
          expect(JSON.stringify(inputs)).toBe(before)
        },
      ),
      { numRuns: 5_000 },
    )
  })

  it('with decimals compared as rationals are', () => {
    const digits = fc.tuple(fc.bigInt(-(10n ** 25n), 10n ** 25n), fc.integer({ min: 0, max: 25 }))
    const print = ([units, scale]: [bigint, number]): string => {
      const body = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
      const whole = body.slice(0, body.length - scale)
      return `${units < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${body.slice(-scale)}`}`
    }
    const lte = constraintOf('{amount: {lte: "1"}}')
    fc.assert(
      fc.property(digits, digits, (a, b) => {
        const constraint: Constraint = {
          ...lte,
          thresholds: { amount_lte: print(b) },
        }
        const holds = a[0] * 10n ** BigInt(b[1]) <= b[0] * 10n ** BigInt(a[1])
        expect(judge(ID, constraint, { amount: print(a) }, nodeCrypto).result).toBe(
          holds ? 'pass' : 'fail',
        )
      }),
      { numRuns: 2000 },
    )
  })
})

describe('evidence', () => {
  const manifest = manifestOf(
    text('{amount: {lte: {by: currency, of: {EUR: "460.00", USD: "500.00"}}}}'),
  )
  const digest = manifestDigest(manifest, nodeCrypto)
  const short = '{amount: {lte: {by: currency, of: {EUR: "460.00", USD: "500.00"}}}}'
  const evidence = evidenceOf(ID, digest, judged(short, { amount: '480', currency: 'EUR' }), 'salt')
  const stored = (value: unknown): Plain => JSON.parse(JSON.stringify(value))
  const codeOf = (from: Manifest, value: unknown) => {
    const answer = rederive(from, stored(value), nodeCrypto)
    return answer.ok ? answer.result : answer.code
  }

  it('holds the resolved threshold only, and gives the outcome again', () => {
    expect(stored(evidence)).toEqual({
      constraint: ID,
      manifest_digest: digest,
      inputs: { amount: '480', currency: 'EUR' },
      thresholds: { amount_lte: '460.00' },
      outcome: 'fail',
      salt: 'salt',
    })
    expect(codeOf(manifest, evidence)).toBe('fail')
    expect(evidenceDigest(evidence, nodeCrypto)).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each([
    [
      'a changed input',
      { ...evidence, inputs: { amount: '450', currency: 'EUR' } },
      'outcome_mismatch',
    ],
    ['a changed outcome', { ...evidence, outcome: 'pass' }, 'outcome_mismatch'],
    [
      'another currency',
      { ...evidence, inputs: { amount: '480', currency: 'USD' } },
      'threshold_mismatch',
    ],
    [
      'a changed threshold',
      { ...evidence, thresholds: { amount_lte: '490.00' } },
      'threshold_mismatch',
    ],
    [
      'an added threshold',
      { ...evidence, thresholds: { ...evidence.thresholds, x: '1' } },
      'threshold_mismatch',
    ],
    ['another manifest', { ...evidence, manifest_digest: '0'.repeat(64) }, 'manifest_mismatch'],
    ['an unknown constraint', { ...evidence, constraint: 'toString' }, 'constraint_unknown'],
    ['a stray member', { ...evidence, note: 'x' }, 'evidence_malformed'],
    ['no salt', { ...evidence, salt: undefined }, 'evidence_malformed'],
    ['nothing', null, 'evidence_malformed'],
  ])('is found out with %s', (_name, value, code) => {
    expect(codeOf(manifest, value)).toBe(code)
  })

  it.each<[string, unknown, string | null]>([
    ['{tags: {in: [a]}}', { tags: [] }, null],
    ['{tags: {in: [a]}}', {}, null],
    ['{time: {from: "08:00", until: "18:00"}}', {}, null],
    ['{sum: {of: amount, max: "5", per: [$agent], window: 1h}}', { amount: '2' }, '3.00'],
    ['{count: {max: 1, window: 1h}}', {}, '1'],
    ['{$body: {schema: {type: object}}}', '{"a":1.5}', null],
    ['{currency: {absent: true}}', {}, null],
  ])('of %s survives normalization and gives the outcome again', (kind, body, prior) => {
    const from = manifestOf(text(kind))
    const judgement = judged(kind, body, NOON, prior)
    const made = evidenceOf(ID, manifestDigest(from, nodeCrypto), judgement, 's')
    const normalized = JSON.parse(JSON.stringify(made), (_name, value) =>
      value !== null && typeof value === 'object' && Object.keys(value).length === 0
        ? undefined
        : value,
    )
    expect(codeOf(from, made)).toBe(judgement.result)
    expect(codeOf(from, normalized)).toBe(judgement.result)
  })

  it('of an empty list and of no list have different digests', () => {
    const make = (body: unknown) => {
      const judgement = judged('{tags: {if_present: {in: [a]}}}', body)
      return evidenceDigest(evidenceOf(ID, digest, judgement, 's'), nodeCrypto)
    }
    expect(make({ tags: [] })).not.toBe(make({}))
  })

  it('of a window read for another scope is an error', () => {
    const kind = '{count: {max: 1, per: [currency], window: 1h}}'
    const from = manifestOf(text(kind))
    const made = evidenceOf(
      ID,
      manifestDigest(from, nodeCrypto),
      judged(kind, { currency: 'EUR' }, NOON, '1'),
      's',
    )
    expect(codeOf(from, { ...made, inputs: { ...made.inputs, currency: 'USD' } })).toBe(
      'outcome_mismatch',
    )
  })
})

describe('consequences and the manifest’s own tests', () => {
  it('make an error a block or a question, never less', () => {
    const constraint = constraintOf('{n: {lte: 1}, on_fail: warn, on_error: hitl}')
    expect(consequence(constraint, 'pass')).toBe('none')
    expect(consequence(constraint, 'fail')).toBe('warn')
    expect(consequence(constraint, 'error')).toBe('hitl')
  })

  const tested = (tests: string, constraint = '{n: {lte: 1}}') =>
    runTests(manifestOf(`${text(constraint)}tests:\n${tests}`), nodeCrypto)

  it('pass when they say what happens', () => {
    expect(
      tested(
        '  - {args: {n: 1}, expect: pass}\n  - {tool: t, args: {n: 2}, expect: {verdict: blocked, constraints: {c: fail}}}\n  - {args: {}, expect: {verdict: blocked, constraints: {c: error}}}',
      ),
    ).toEqual([])
    expect(tested('  - {args: {n: 2}, expect: ask}', '{n: {lte: 1}, on_fail: hitl}')).toEqual([])
    expect(tested('  - {args: {n: 2}, expect: pass}', '{n: {lte: 1}, on_fail: warn}')).toEqual([])
  })

  it('name number, expected and got when they do not', () => {
    expect(
      tested(
        '  - {args: {n: 1}, expect: pass}\n  - {args: {n: 2}, expect: {verdict: pass, constraints: {c: pass}}}',
      ),
    ).toEqual([
      {
        number: 2,
        tool: 't',
        expected: 'pass, com.acme.x.c pass',
        got: 'blocked, com.acme.x.c fail',
      },
    ])
  })

  it('need a time where a constraint reads the clock', () => {
    const clock = '{time: {from: "08:00", until: "18:00"}}'
    expect(tested('  - {args: {}, expect: pass}', clock)[0]?.got).toContain('clock')
    expect(tested('  - {args: {}, at: "2026-01-05T09:00:00Z", expect: pass}', clock)).toEqual([])
  })
})
