import { afterAll, describe, expect, it } from '@jest/globals'
import type { PolicyDecision, PolicyEngine } from '../../../src/ports/policy.js'
import { CONTRACT_RULES, type MakeEngine, POLICY_CONTRACT } from '../../contract/policy.js'
import { engineFor, removeFolders } from './folder.js'

afterAll(removeFolders)
const make: MakeEngine = (policies) => engineFor(policies, CONTRACT_RULES)

describe('the Cedar engine keeps the contract', () => {
  for (const { name, check } of POLICY_CONTRACT) it(name, () => check(make))
})

describe('the contract catches a driver that', () => {
  const spoiled =
    (spoil: (engine: PolicyEngine) => Partial<PolicyEngine>): MakeEngine =>
    async (policies) => {
      const engine = await make(policies)
      return { ...engine, ...spoil(engine) }
    }
  const deciding = (change: (decision: PolicyDecision) => PolicyDecision) =>
    spoiled((engine) => ({ decide: (request) => change(engine.decide(request)) }))
  const said = ({ request }: PolicyDecision) => ({ policies: ['may-pay'], observed: [], request })
  const permit = (d: PolicyDecision): PolicyDecision => ({ kind: 'permit', ...said(d) })
  const deny = (d: PolicyDecision): PolicyDecision => ({ kind: 'deny', ...said(d), reason: null })
  const ask = (d: PolicyDecision): PolicyDecision => ({ kind: 'ask', ...said(d), reason: null })
  const only = (kind: PolicyDecision['kind'], change: (d: PolicyDecision) => PolicyDecision) =>
    deciding((decision) => (decision.kind === kind ? change(decision) : decision))
  const stubs: Readonly<Record<string, { make: MakeEngine; breaks: string }>> = {
    'permits everything': { make: deciding(permit), breaks: 'denies by default' },
    'denies everything': { make: deciding(deny), breaks: 'permits what a policy permits' },
    'permits when a policy errored': {
      make: only('error', permit),
      breaks: 'gives an error value when a forbid errored',
    },
    'denies when the request fits no schema': {
      make: only('error', deny),
      breaks: 'gives an error value when the schema does not hold',
    },
    'throws instead of answering': {
      make: only('error', () => {
        throw new Error('boom')
      }),
      breaks: 'does not throw',
    },
    'never asks': { make: only('ask', deny), breaks: 'asks only when approval lifts' },
    'asks whenever it denies': {
      make: only('deny', ask),
      breaks: 'does not ask for what no policy permits',
    },
    'hides what it observed': {
      make: only('permit', (d) => (d.kind === 'permit' ? { ...d, observed: [] } : d)),
      breaks: 'reports an observed policy',
    },
    'keeps a float in the evidence': {
      make: deciding((d) => ({ ...d, request: { principal: 'bot', amount: 0.1 } })),
      breaks: 'returns the evaluated request',
    },
    'has one digest for all sets': {
      make: spoiled(() => ({ digest: '0'.repeat(64) })),
      breaks: 'has a digest that changes',
    },
    'names the determining policies wrongly': {
      make: only('permit', (d) => (d.kind === 'permit' ? { ...d, policies: ['policy0'] } : d)),
      breaks: 'permits what a policy permits',
    },
    'hides every tool': {
      make: spoiled(() => ({ mayPermit: () => false })),
      breaks: 'may permit whatever it permits',
    },
    'lists every tool': {
      make: spoiled(() => ({ mayPermit: () => true })),
      breaks: 'may not permit what',
    },
    'remembers the last answer': {
      make: spoiled((engine) => {
        let count = 0
        return {
          decide: (request) => ({ ...engine.decide(request), request: { principal: count++ } }),
        }
      }),
      breaks: 'decides the same request the same way',
    },
  }
  for (const [name, stub] of Object.entries(stubs)) {
    it(name, async () => {
      const broken = POLICY_CONTRACT.find((check) => check.name.startsWith(stub.breaks))
      await expect(broken?.check(stub.make)).rejects.toThrow()
    })
  }
})
