import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../src/core/manifest/expand.js'
import { type Code, TABLE } from '../../src/core/verdict/table.js'
import { tool } from '../support/approvals.js'
import { expectConformance } from '../support/conformance.js'
import { happen } from '../support/happen.js'
import { httpCall, manifestOf } from '../support/manifests.js'
import { type Rig, rig, TOKEN } from '../support/rig.js'
import { MANIFEST, SCENARIOS, type Scenario } from '../support/verdict-scenarios.js'

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

describe('in observe mode', () => {
  it.each(STRICT)('%s is the same verdict as ever', async (code, scenario) => {
    const { answer, capsules, requests, ...ended } = await happen(scenario, { mode: 'observe' })
    at = ended.rig
    const { status, effect, verdict } = TABLE[code]
    expect(answer).toMatchObject({ kind: 'refused', code, status })
    expect(capsules).toHaveLength(1)
    expect(capsules[0]?.capsule).toMatchObject({
      disposition: { verdict_class: verdict },
      'dev.capsulegate.mode': 'observe',
    })
    if (effect === 'none') expect(requests).toBe(0)
  })

  it.each(rows.filter(([code]) => RELAXED.has(code)))(
    '%s is recorded and not enforced',
    async (_code, scenario) => {
      const { answer, capsules, requests, ...ended } = await happen(scenario, { mode: 'observe' })
      at = ended.rig
      expect(answer).toMatchObject({ kind: 'executed', code: 'executed' })
      expect(requests).toBe(1)
      const { constraints = [] } = capsules[0]?.capsule ?? {}
      expect(constraints.filter(({ blocking }) => blocking)).toEqual([])
    },
  )
})

describe('a manifest\u2019s own mode: observe', () => {
  it.each(
    STRICT.filter(([code]) => ['halted', 'policy_error', 'arguments_invalid'].includes(code)),
  )('%s is the same verdict as ever', async (code, scenario) => {
    const ended = await happen(scenario, { manifest: `mode: observe\n${MANIFEST}` })
    at = ended.rig
    expect(ended.answer).toMatchObject({ kind: 'refused', code })
    expect(ended.requests).toBe(0)
  })

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
    const caller = { bearer: TOKEN, certificate: null, asserted: null, source: '127.0.0.1' }
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
