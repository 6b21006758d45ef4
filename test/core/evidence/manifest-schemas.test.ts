import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { GATE_SCHEMAS } from '../../../src/core/evidence/gate-schemas.js'
import { manifestSchemas } from '../../../src/core/evidence/manifest-schemas.js'
import { normalize } from '../../../src/core/json/build.js'
import { evaluate } from '../../../src/core/manifest/constraint/evaluate.js'
import { evidenceOf, rederive } from '../../../src/core/manifest/constraint/evidence.js'
import type { Facts } from '../../../src/core/manifest/constraint/inputs.js'
import type { ArgValue } from '../../../src/core/manifest/constraint/typed-value.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import type { Constraint } from '../../../src/core/manifest/model.js'
import { manifestOf } from '../../support/manifests.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const NOW = '2026-03-02T12:00:00.000Z'
const SALT = '0'.repeat(32)

/** The examples of docs/manifest.md, one of each kind, and schemas of authors that are hard to wrap. */
const EXAMPLES = [
  ...readFileSync(join(ROOT, 'docs', 'manifest.md'), 'utf8').matchAll(
    /```yaml constraints\n([\s\S]*?)```/g,
  ),
].map(([, text]) => String(text))
const OWN = `
referring:
  select: {value: currency}
  evidence_schema:
    type: object
    required: [value]
    properties: {value: {$ref: "#/$defs/code"}}
    additionalProperties: false
    $defs: {code: {type: string, pattern: "^[A-Z]{3}$"}}
  thresholds: {from: "08:00", until: "18:00"}
  predicate: {kind: all, of: [{kind: exists, input: value}, {kind: time_window, from: {threshold: from}, until: {threshold: until}}]}
at_most_one_member:
  select: {value: tags}
  evidence_schema: {type: object, maxProperties: 1}
  thresholds: {}
  predicate: {kind: dedupe_key, scope: [value], window_seconds: 60}
nothing_conforms: {select: {value: n}, evidence_schema: false, predicate: {kind: exists, input: value}}
everything_conforms: {select: {value: n}, evidence_schema: true, predicate: {kind: exists, input: value}}
`
const indent = (text: string): string => text.replace(/^(?=.)/gm, '      ')
const manifest = manifestOf(`id: com.acme.all
tools:
  act:
    match: POST /act
    args: {amount: "decimal?", currency: "string?", n: "integer?", ok: "boolean?", tags: "strings?", url: "string?"}
    constraints:
${[...EXAMPLES, OWN].map(indent).join('\n')}`)
const digest = manifestDigest(manifest, nodeCrypto)
/** As it is read from the public documents. */
const document = JSON.parse(JSON.stringify(manifestSchemas(manifest, digest)))
const ajv = new Ajv2020({ strict: true }).addSchema(document)
const admits = (id: string, value: unknown): boolean =>
  ajv.validate(`urn:capsule-gate:evidence:${digest}#/$defs/${id}`, value)

const args = (given: Record<string, ArgValue>): Facts => ({
  args: new Map(Object.entries(given)),
  body: 'hello',
  agent: 'bot',
  operator: 'acme',
  tool: 'act',
})
const CALLS: readonly Facts[] = [
  args({}),
  args({
    amount: { type: 'decimal', value: '5.00' },
    currency: { type: 'string', value: 'EUR' },
    n: { type: 'integer', value: 7n },
    ok: { type: 'boolean', value: true },
    tags: { type: 'strings', value: ['a'] },
    url: { type: 'string', value: 'https://api.acme.com/' },
  }),
  args({
    amount: { type: 'decimal', value: '99999' },
    currency: { type: 'string', value: 'nowhere' },
    n: { type: 'integer', value: 13n },
    ok: { type: 'boolean', value: false },
    tags: { type: 'strings', value: [] },
    url: { type: 'string', value: 'no url' },
  }),
]

type Evidence = { readonly [name: string]: unknown }
const evidence = (id: string, constraint: Constraint, facts: Facts): Evidence => {
  const moment = { now: NOW, prior: '0' }
  const judged = evaluate(id, constraint, facts, moment, nodeCrypto)
  const value = JSON.parse(JSON.stringify(normalize(evidenceOf(id, digest, judged, SALT))))
  expect(rederive(manifest, value, nodeCrypto)).toEqual({ ok: true, result: judged.result })
  return value
}
const constraints = Object.entries(manifest.constraints)

describe('the schema of a constraint’s evidence', () => {
  it('is there for each kind of predicate', () => {
    expect(constraints.length).toBeGreaterThan(20)
    expect(Object.keys(document.$defs)).toEqual(constraints.map(([id]) => id))
  })

  it.each(constraints)('%s: admits what is digested, whatever the outcome', (id, constraint) => {
    const outcomes = CALLS.map((facts) => {
      const value = evidence(id, constraint, facts)
      expect([value, admits(id, value), ajv.errors]).toEqual([value, true, null])
      expect(ajv.validate(`urn:capsule-gate:evidence:${digest}`, value)).toBe(true)
      return value.outcome
    })
    expect(outcomes).toHaveLength(CALLS.length)
  })

  it.each(constraints)(
    '%s: describes the whole object, so that nothing else fits',
    (id, constraint) => {
      for (const facts of CALLS) {
        const value = evidence(id, constraint, facts)
        const { inputs = {}, thresholds = {} } = value
        const others: Evidence[] = [
          { ...value, more: 1 },
          { ...value, constraint: 'com.acme.all.other' },
          { ...value, manifest_digest: '0'.repeat(64) },
          { ...value, outcome: 'ok' },
          { ...value, salt: 'x' },
          { ...value, inputs: { ...(inputs as object), more: 'x' } },
          { ...value, thresholds: { ...(thresholds as object), more: 'x' } },
          ...Object.keys(thresholds as object).map((name) => ({
            ...value,
            thresholds: { ...(thresholds as object), [name]: 'another' },
          })),
          ...['constraint', 'manifest_digest', 'outcome', 'salt'].map((name) => ({
            ...value,
            [name]: undefined,
          })),
          ...(value.window === undefined ? [{ ...value, window: { prior: '0' } }] : []),
          ...(value.now === undefined ? [{ ...value, now: NOW }] : []),
        ]
        for (const other of others) {
          const plain = JSON.parse(JSON.stringify(other))
          expect({ plain, admitted: admits(id, plain) }).toMatchObject({ admitted: false })
        }
      }
    },
  )

  it('asks for what a pass or a fail was judged on, and not for it where nothing could be judged', () => {
    const id = 'com.acme.all.cap'
    const cap = evidence(id, manifest.constraints[id] as Constraint, CALLS[1] as Facts)
    expect(cap.outcome).toBe('pass')
    expect(admits(id, { ...cap, inputs: undefined })).toBe(false)
    expect(admits(id, { ...cap, inputs: { amount: 5 } })).toBe(false)
    const { inputs: _, ...without } = cap
    expect(admits(id, without)).toBe(false)
    expect(admits(id, { ...without, outcome: 'error' })).toBe(true)
  })

  it('keeps the clock and the window apart from the inputs, of which the author’s schema is', () => {
    const count = evidence(
      'com.acme.all.hourly',
      manifest.constraints['com.acme.all.hourly'] as Constraint,
      CALLS[1] as Facts,
    )
    expect(count).toMatchObject({
      inputs: { $agent: 'bot' },
      window: { prior: '0', seconds: 3600 },
    })
    const hours = evidence(
      'com.acme.all.office_hours',
      manifest.constraints['com.acme.all.office_hours'] as Constraint,
      CALLS[1] as Facts,
    )
    expect(hours).toMatchObject({ now: NOW, outcome: 'pass' })
    expect(hours.inputs).toBeUndefined()
  })

  it('evidence of 0.1, which had both among its inputs, still gives its outcome again', () => {
    for (const name of ['hourly', 'office_hours', 'referring']) {
      const id = `com.acme.all.${name}`
      const value = evidence(id, manifest.constraints[id] as Constraint, CALLS[1] as Facts)
      const { now, window, inputs = {}, ...rest } = value
      const own = {
        ...(now === undefined ? {} : { $now: now }),
        ...(window === undefined ? {} : { $window: window }),
      }
      const older = JSON.parse(
        JSON.stringify({ ...rest, inputs: { ...(inputs as object), ...own } }),
      )
      expect(rederive(manifest, older, nodeCrypto)).toMatchObject({ ok: true })
      const twice = JSON.parse(JSON.stringify({ ...older, now, window }))
      expect(rederive(manifest, twice, nodeCrypto)).toMatchObject({ code: 'evidence_malformed' })
    }
  })

  it('is none for a manifest without constraints', () => {
    const bare = manifestOf('id: com.acme.bare\ntools:\n  act: {match: POST /act}\n')
    expect(manifestSchemas(bare, digest)).toBeNull()
  })
})

describe('schemas/gate-evidence.json', () => {
  const FILE = join(ROOT, 'schemas', 'gate-evidence.json')
  const text = `${JSON.stringify(GATE_SCHEMAS, null, 2)}\n`
  if (process.env.UPDATE_DOCS === '1') writeFileSync(FILE, text)

  it('is what the gate publishes; UPDATE_DOCS=1 writes it anew', () => {
    expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(JSON.parse(text))
  })

  it('has nothing that a digest would not show', () => {
    expect(JSON.parse(JSON.stringify(normalize(GATE_SCHEMAS)))).toEqual(JSON.parse(text))
    expect(JSON.parse(JSON.stringify(normalize(document)))).toEqual(
      JSON.parse(JSON.stringify(document)),
    )
  })
})
