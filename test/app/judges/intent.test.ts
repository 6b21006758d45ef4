import { afterEach, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import { intentRequest, MANDATE, STANDARD, THIN } from '../../adapters/cedar/intents.js'
import { manifestOf, PAYMENTS } from '../../support/manifests.js'
import { type Rig, rig } from '../../support/rig.js'

const POLICY = `@id("instructed") permit (principal, action == Action::"create_refund", resource)
when { context.idp has reasoning_basis && context.idp.reasoning_basis.type == "INSTRUCTION" };`
let at: Rig | null = null
afterEach(() => at?.close())

it.each(['required', 'optional'] as const)(
  'a gate whose tool has intent %s rehearses, denies its canary, and lets policy see what is declared',
  async (intent) => {
    const { rules, ...rest } = manifestOf(PAYMENTS)
    const manifest = { ...rest, rules: rules.map((rule) => ({ ...rule, intent })) }
    const policies = POLICY.replace(
      'context.idp has',
      intent === 'required' ? 'context.idp has' : 'context has idp && context.idp has',
    )
    at = await rig({
      manifest: PAYMENTS,
      policies,
      manifests: [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }],
    })
    const { policy } = at.gate.parts.world()
    const asked = intentRequest('create_refund', {
      args: { order: 'o', currency: 'EUR', amount: '5' },
      mandate: MANDATE,
    })
    expect(policy.decide({ ...asked, idp: STANDARD }).kind).toBe('permit')
    expect(policy.decide({ ...asked, idp: THIN }).kind).toBe('deny')
    expect(policy.decide(asked).kind).toBe(intent === 'required' ? 'error' : 'deny')
  },
)
