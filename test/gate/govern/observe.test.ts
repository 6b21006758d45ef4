import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import { type Code, TABLE } from '../../../src/core/verdict/table.js'
import { govern } from '../../../src/gate/govern/govern.js'
import { tool } from '../../support/approvals.js'
import { expectConformance } from '../../support/conformance.js'
import { happen } from '../../support/happen.js'
import { httpCall, manifestOf } from '../../support/manifests.js'
import { type CapsuleLine, type Rig, type RigOptions, rig, TOKEN } from '../../support/rig.js'
import { MANIFEST, POLICIES, SCENARIOS, type Scenario } from '../../support/verdict-scenarios.js'

/** All that observe mode relaxes: constraint fails, denials, questions, and names no rule reads (DESIGN \u00a76). */
const RELAXED: ReadonlySet<string> = new Set<Code>([
  'approval_closed',
  'approval_pending',
  'approvals_exhausted',
  'budget_exceeded',
  'constraint_error',
  'constraint_failed',
  'decision_needed',
  'duplicate_call',
  'member_not_read',
  'policy_denied',
  'query_not_read',
])
const rows = Object.entries(SCENARIOS) as [Code, Scenario][]
const STRICT = rows.filter(([code]) => !RELAXED.has(code) && TABLE[code].status !== 'upstream')

let at: Rig | null = null
afterEach(async () => {
  if (at !== null) await expectConformance(at)
  await at?.close()
  at = null
})

const WAYS: [string, Partial<RigOptions>][] = [
  ['the gate\u2019s own mode', { mode: 'observe' }],
  ['the manifest\u2019s own mode', { manifest: `mode: observe\n${MANIFEST}` }],
]
const caller = { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' }

describe.each(WAYS)('where %s is observe', (_way, more) => {
  it.each(STRICT)('%s is the same verdict as ever', async (code, scenario) => {
    const { answer, capsules, requests, ...ended } = await happen(scenario, more)
    at = ended.rig
    const { status, effect, verdict } = TABLE[code]
    expect(answer).toMatchObject({ kind: 'refused', code, status })
    expect(capsules).toHaveLength(1)
    const { capsule } = capsules[0] as CapsuleLine
    expect(capsule.disposition).toMatchObject({ verdict_class: verdict })
    // A call that no rule was found for is under no manifest.
    const matched = capsule['dev.capsulegate.manifest_digest'] !== undefined
    if (matched || more.mode === 'observe') expect(capsule['dev.capsulegate.mode']).toBe('observe')
    if (effect === 'none') expect(requests).toBe(0)
  })

  it.each(rows.filter(([code]) => RELAXED.has(code)))(
    '%s is recorded and not enforced',
    async (_code, scenario) => {
      const { answer, capsules, requests, ...ended } = await happen(scenario, more)
      at = ended.rig
      expect(answer).toMatchObject({ kind: 'executed', code: 'executed' })
      expect(requests).toBe(1)
      const { constraints = [] } = capsules[0]?.capsule ?? {}
      expect(constraints.filter(({ blocking }) => blocking)).toEqual([])
    },
  )

  it('a repeat with its key gets the recorded answer, and nothing runs again', async () => {
    at = await rig({ manifest: MANIFEST, policies: POLICIES, ...more })
    const how = tool()
    const call = { ...SCENARIOS.executed.call, idempotencyKey: 'k-1' }
    const first = await at.gate.govern(call, how.dispatch)
    if (first.kind !== 'executed') throw new Error(first.kind)
    expect(await at.gate.govern(call, how.dispatch)).toMatchObject({
      kind: 'replayed',
      actionId: first.actionId,
    })
    expect(how.sent).toHaveLength(1)
  })

  it.each(['journal', 'evidence'] as const)(
    'where the %s cannot be written nothing is judged or sent',
    async (store) => {
      at = await rig({ manifest: MANIFEST, policies: POLICIES, ...more })
      const { parts } = at.gate
      const health = () => ({ ok: false, reason: 'no space' })
      const how = tool()
      const sick = { ...parts, [store]: { ...parts[store], health } }
      expect(await govern(SCENARIOS.executed.call, how.dispatch, sick)).toMatchObject({
        kind: 'unrecorded',
        code: 'record_unavailable',
      })
      expect(how.sent).toEqual([])
      expect(await at.capsules()).toEqual([])
    },
  )

  it('an amount that policy cannot compare exactly is the caller\u2019s fault, as ever', async () => {
    at = await rig({ manifest: MANIFEST, policies: POLICIES, ...more })
    const how = tool()
    const body = { order: 'o-1', currency: 'EUR', amount: '5.00001' }
    const call = httpCall('POST', '/v1/refunds', body, { caller })
    expect(await at.gate.govern(call, how.dispatch)).toMatchObject({
      kind: 'refused',
      code: 'arguments_invalid',
    })
    expect(how.sent).toEqual([])
  })
})

describe('a manifest\u2019s own mode: observe', () => {
  it('is honoured, for the tools of that manifest and no others', async () => {
    const text = (name: string, more: string): string =>
      `id: com.acme.${name}\n${more}tools:\n  ${name}:\n    match: POST /${name}\n    args: {n: integer}\n    constraints: {small: {n: {lte: 5}}}\n`
    const manifests = [text('watched', 'mode: observe\n'), text('kept', '')].map((written) => {
      const manifest = manifestOf(written)
      return { manifest, digest: manifestDigest(manifest, nodeCrypto) }
    })
    at = await rig({
      manifest: text('kept', ''),
      manifests,
      policies: '@id("none") permit (principal == Agent::"other-bot", action, resource);',
    })
    const how = tool()
    const ask = (target: string, n: number) =>
      at?.gate.govern(httpCall('POST', target, { n }, { caller }), how.dispatch)
    expect(await ask('/watched', 9)).toMatchObject({ code: 'executed' })
    expect(await ask('/watched', 1)).toMatchObject({ code: 'executed' })
    expect(how.sent).toHaveLength(2)
    expect(await ask('/kept', 9)).toMatchObject({ code: 'constraint_failed' })
    expect(await ask('/kept', 1)).toMatchObject({ code: 'policy_denied' })
    expect(how.sent).toHaveLength(2)
    const modes = (await at.capsules()).map(({ capsule }) => capsule['dev.capsulegate.mode'])
    expect(modes).toEqual(['observe', 'observe', 'enforce', 'enforce'])
  })
})
