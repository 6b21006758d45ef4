import { expect } from '@jest/globals'
import { canonicalOf } from '../../src/core/json/build.js'
import type { PolicyDecision, PolicyEngine, PolicyRequest } from '../../src/ports/policy.js'

/**
 * What every PolicyEngine driver promises (DESIGN §8). A check is a function that throws, so that the
 * suite itself can be tested: a stub that breaks a promise must fail the check of that name.
 */
export type MakeEngine = (policies: string) => Promise<PolicyEngine>
export type PolicyCheck = {
  readonly name: string
  readonly check: (make: MakeEngine) => Promise<void>
}

/** The action every contract policy is about; drivers declare it with exactly these arguments. */
export const CONTRACT_RULES = [
  {
    tool: 'pay',
    action: 'pay',
    args: {
      amount: { type: 'decimal', optional: false },
      count: { type: 'integer', optional: false },
      note: { type: 'string', optional: true },
    },
  },
] as const

export const contractRequest = (change: Partial<PolicyRequest> = {}): PolicyRequest => ({
  principal: 'bot',
  roles: ['payers'],
  developer: 'acme',
  action: 'pay',
  resource: 'pay',
  irreversibility: 'one_way_consequential',
  args: { amount: '10.00', count: 1 },
  approval: { granted: false },
  ...change,
})

const PERMIT =
  '@id("may-pay") permit (principal == Agent::"bot", action == Action::"pay", resource);'
const OVERFLOW = `${PERMIT}
@id("overflows") forbid (principal, action == Action::"pay", resource)
when { context.args.count * 9000000000000000000 > 5 };`
const ASK = `${PERMIT}
@id("large") @hem("required") @reason("large payments need a human")
forbid (principal, action == Action::"pay", resource)
when { context.args.amount.greaterThan(decimal("100.0")) } unless { context.approval.granted };
@id("never") forbid (principal, action == Action::"pay", resource)
when { context.args.amount.greaterThan(decimal("1000.0")) };`
const OBSERVED = `${PERMIT}
@id("trial") @mode("observe") forbid (principal, action == Action::"pay", resource)
when { context.args.amount.greaterThan(decimal("5.0")) };`
const UNCONDITIONAL = `${PERMIT}
@id("no-payers") forbid (principal in Role::"payers", action == Action::"pay", resource);`

const large = (amount: string, granted = false) =>
  contractRequest({ args: { amount, count: 1 }, approval: { granted } })
const policiesOf = (decision: PolicyDecision): readonly string[] =>
  decision.kind === 'error' ? [] : decision.policies

export const POLICY_CONTRACT: readonly PolicyCheck[] = [
  {
    name: 'permits what a policy permits, and names it',
    async check(make) {
      const decision = (await make(PERMIT)).decide(contractRequest())
      expect(decision.kind).toBe('permit')
      expect(policiesOf(decision)).toEqual(['may-pay'])
    },
  },
  {
    name: 'denies by default, naming no policy',
    async check(make) {
      const decision = (await make(PERMIT)).decide(contractRequest({ principal: 'stranger' }))
      expect(decision.kind).toBe('deny')
      expect(policiesOf(decision)).toEqual([])
    },
  },
  {
    name: 'gives an error value when a forbid errored, never a permit',
    async check(make) {
      const engine = await make(OVERFLOW)
      expect(engine.decide(contractRequest({ args: { amount: '1.0', count: 0 } })).kind).toBe(
        'permit',
      )
      expect(engine.decide(contractRequest({ args: { amount: '1.0', count: 2 } })).kind).toBe(
        'error',
      )
    },
  },
  {
    name: 'gives an error value when the schema does not hold: wrong type, missing, undeclared',
    async check(make) {
      const engine = await make(PERMIT)
      for (const args of [
        { amount: '10.00', count: '1' },
        { amount: '10.00' },
        { amount: '10.00', count: 1, more: 'x' },
        { amount: '10.00001', count: 1 },
      ]) {
        expect(engine.decide(contractRequest({ args })).kind).toBe('error')
      }
    },
  },
  {
    name: 'gives an error value for an action it has no schema for',
    async check(make) {
      const engine = await make('@id("all") permit (principal, action, resource);')
      expect(engine.decide(contractRequest({ action: 'fly', args: {} })).kind).toBe('error')
    },
  },
  {
    name: 'does not throw, whatever it is given',
    async check(make) {
      const engine = await make(PERMIT)
      for (const request of [null, undefined, 7, {}, { ...contractRequest(), args: null }]) {
        expect(engine.decide(request as unknown as PolicyRequest).kind).toBe('error')
      }
    },
  },
  {
    name: 'asks only when approval lifts every policy in the way',
    async check(make) {
      const engine = await make(ASK)
      expect(engine.decide(large('100.00')).kind).toBe('permit')
      const asked = engine.decide(large('100.01'))
      expect(asked.kind).toBe('ask')
      expect(policiesOf(asked)).toEqual(['large'])
      expect(engine.decide(large('100.01', true)).kind).toBe('permit')
      expect(engine.decide(large('1000.01')).kind).toBe('deny')
      expect(engine.decide(large('1000.01', true)).kind).toBe('deny')
    },
  },
  {
    name: 'does not ask where the policy in the way asks for nobody',
    async check(make) {
      const engine = await make(ASK.replace('@hem("required")', ''))
      expect(engine.decide(large('100.01')).kind).toBe('deny')
      expect(engine.decide(large('100.01', true)).kind).toBe('permit')
    },
  },
  {
    name: 'does not ask for what no policy permits anyway',
    async check(make) {
      const engine = await make(ASK)
      expect(engine.decide({ ...large('100.01'), principal: 'stranger' }).kind).toBe('deny')
    },
  },
  {
    name: 'reports an observed policy that would change the decision, without obeying it',
    async check(make) {
      const engine = await make(OBSERVED)
      const decision = engine.decide(large('6.00'))
      expect(decision).toMatchObject({ kind: 'permit', observed: [{ id: 'trial', would: 'deny' }] })
      expect(engine.decide(large('5.00'))).toMatchObject({ kind: 'permit', observed: [] })
    },
  },
  {
    name: 'returns the evaluated request in a form that has a digest',
    async check(make) {
      const engine = await make(ASK)
      for (const amount of ['10.00', '100.01', '1000.01', '0.00001']) {
        const text = canonicalOf(engine.decide(large(amount)).request)
        expect(text).toContain('"bot"')
        expect(text.includes('amount')).toBe(amount !== '0.00001')
      }
    },
  },
  {
    name: 'has a digest that changes exactly when the set does',
    async check(make) {
      const [first, again, other] = [
        await make(PERMIT),
        await make(`\n${PERMIT}\n`),
        await make(ASK),
      ]
      expect(first.digest).toMatch(/^[0-9a-f]{64}$/)
      expect(again.digest).toBe(first.digest)
      expect(other.digest).not.toBe(first.digest)
      expect([...other.policyIds].sort()).toEqual(['large', 'may-pay', 'never'])
    },
  },
  {
    name: 'may permit whatever it permits or asks about for some arguments',
    async check(make) {
      for (const policies of [PERMIT, ASK, OBSERVED, OVERFLOW, UNCONDITIONAL]) {
        const engine = await make(policies)
        for (const principal of ['bot', 'stranger']) {
          for (const amount of ['1.0', '100.01', '1000.01']) {
            const asked = { ...large(amount), principal }
            const { kind } = engine.decide(asked)
            if (kind === 'permit' || kind === 'ask') expect(engine.mayPermit(asked)).toBe(true)
          }
        }
      }
    },
  },
  {
    name: 'may not permit what no enforced policy is about, nor what is forbidden without condition',
    async check(make) {
      const stranger = contractRequest({ principal: 'stranger' })
      const ask = await make(ASK)
      expect(ask.mayPermit(contractRequest())).toBe(true)
      expect(ask.mayPermit(stranger)).toBe(false)
      expect(ask.mayPermit(contractRequest({ action: 'fly' }))).toBe(false)
      const unconditional = await make(UNCONDITIONAL)
      expect(unconditional.mayPermit(contractRequest())).toBe(false)
      expect(unconditional.mayPermit(contractRequest({ roles: [] }))).toBe(true)
    },
  },
  {
    name: 'decides the same request the same way every time',
    async check(make) {
      const engine = await make(ASK)
      const before = JSON.stringify(engine.decide(large('100.01')))
      engine.decide(large('1000.01', true))
      engine.decide(null as unknown as PolicyRequest)
      expect(JSON.stringify(engine.decide(large('100.01')))).toBe(before)
    },
  },
]
