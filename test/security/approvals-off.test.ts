import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { GateReport } from '../../src/gate/context.js'
import { createGate, type EmbeddedGate, GateRefusal } from '../../src/index.js'
import { install } from '../cli/admin-support.js'

/** An agent must not be told to wait for a person where no person can be asked. */
const POLICY = `@id("all") permit (principal == Agent::"bot", action == Action::"pay", resource);
@id("large") @hem("required") forbid (principal, action == Action::"pay", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };`
const PLAIN = '@id("all") permit (principal == Agent::"bot", action == Action::"pay", resource);'
const MANIFEST = 'id: com.acme.pay\ntools:\n  pay:\n    args: {amount: decimal}\n'
const ASKING = `${MANIFEST}    constraints:\n      cap: {amount: {lte: "500.00"}, on_fail: hitl}\n`

let home: string | null = null
let gate: EmbeddedGate | null = null
afterEach(async () => {
  await gate?.close()
  gate = null
  if (home !== null) rmSync(home, { recursive: true })
  home = null
})

async function embedded(
  yaml: string,
  { policy = POLICY, manifest = MANIFEST } = {},
): Promise<{ gate: EmbeddedGate; reports: GateReport[] }> {
  home = mkdtempSync(join(tmpdir(), 'gate-approvals-off-'))
  for (const [path, text] of [
    ['gate.yaml', `operator: acme\n${yaml}`],
    ['manifests/pay.yaml', manifest],
    ['policies/pay.cedar', policy],
  ] as const) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const reports: GateReport[] = []
  gate = await createGate(join(home, 'gate.yaml'), {
    report: (event) => reports.push(event),
    recorder: { in: 'this_thread' },
  })
  return { gate, reports }
}

async function refusal(of: EmbeddedGate, amount: string): Promise<GateRefusal['problem']> {
  try {
    await of.wrap('pay', () => 'paid')({ amount }, { agent: 'bot' })
  } catch (error) {
    if (error instanceof GateRefusal) return error.problem
    throw error
  }
  throw new Error('it ran')
}
const warnings = (reports: readonly GateReport[]): GateReport[] =>
  reports.filter(({ event }) => event === 'approvals_off')

describe('an embedded gate', () => {
  it('refuses what a person must decide, says that approvals are off, and warns once at start', async () => {
    const at = await embedded('')
    const told = await refusal(at.gate, '150.00')
    expect(told).toMatchObject({ status: 403, code: 'decision_needed', verdict: 'needs_decision' })
    expect(told.detail).toContain('approvals are off here')
    expect(await at.gate.read.approvals()).toEqual([])
    await refusal(at.gate, '160.00')
    expect(warnings(at.reports)).toHaveLength(1)
    expect(warnings(at.reports)[0]).toMatchObject({ level: 'warn' })
    expect(warnings(at.reports)[0]?.detail).toContain('policy large')
    expect(warnings(at.reports)[0]?.detail).toContain('approvals: {enabled: true}')
  })

  it('warns of a constraint that wants a person too', async () => {
    const at = await embedded('', { policy: PLAIN, manifest: ASKING })
    expect(warnings(at.reports)[0]?.detail).toContain('constraint com.acme.pay.cap')
    expect(await refusal(at.gate, '600.00')).toMatchObject({ code: 'decision_needed' })
  })

  it('is silent where nothing asks for a person', async () => {
    expect(warnings((await embedded('', { policy: PLAIN })).reports)).toEqual([])
  })

  it('asks, without a warning, when gate.yaml says that people can be asked', async () => {
    const at = await embedded('approvals: {enabled: true}\n')
    expect(await refusal(at.gate, '150.00')).toMatchObject({
      status: 202,
      code: 'approval_pending',
    })
    expect(warnings(at.reports)).toEqual([])
  })
})

describe('serve', () => {
  it('asks by default, and not where gate.yaml switches it off', async () => {
    const at = await install()
    try {
      const asking = await at.start()
      expect((await asking.refund('150.00')).status).toBe(202)
      expect(await asking.stop()).toBe(0)
      process.env.GATE_APPROVALS__ENABLED = 'false'
      const off = await at.start()
      const told = await off.refund('160.00')
      expect(await told.json()).toMatchObject({ status: 403, code: 'decision_needed' })
      expect(off.log()).toContain('approvals_off')
      expect(await off.stop()).toBe(0)
    } finally {
      delete process.env.GATE_APPROVALS__ENABLED
      await at.close()
    }
  })
})
