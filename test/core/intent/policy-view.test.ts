import { describe, expect, it } from '@jest/globals'
import type { Intent } from '../../../src/core/intent/model.js'
import { policyIntent, policyMandate } from '../../../src/core/intent/policy-view.js'
import { readIntent } from '../../../src/core/intent/read.js'
import { recordedIntent } from '../../../src/core/intent/thin-stub.js'
import type { PolicyIntent, PolicyMandate } from '../../../src/ports/policy.js'
import { IDS, MANDATE, octets, STANDARD, THIN, type Written } from './samples.js'

const intentOf = (written: Written): Intent => {
  const got = readIntent(octets(written), { pii: 'reject' })
  if (!got.ok) throw new Error(got.field)
  return got.intent
}
const view = (written: Written): PolicyIntent => policyIntent(intentOf(written))
const NOTHING = {
  profile: 'IDP_THIN',
  reasoning_type: null,
  confidence_level: null,
  hem_urgency: null,
  goal_id: null,
  mission_ref: null,
}

describe('what policies see', () => {
  it('of a standard declaration', () => {
    expect(view(STANDARD)).toEqual({
      profile: 'IDP_STANDARD',
      reasoning_type: 'INFERENCE',
      confidence_level: '0.75',
      hem_urgency: 'NONE',
      goal_id: IDS.goal,
      mission_ref: IDS.mission,
    })
  })

  it('of a thin one is no stub and no default', () => {
    expect(view(THIN)).toEqual(NOTHING)
    expect(view({ ...THIN, hem_urgency: 'NONE' })).toEqual(NOTHING)
    expect(view({ ...THIN, hem_urgency: 'REQUIRED' })).toEqual({
      ...NOTHING,
      hem_urgency: 'REQUIRED',
    })
  })

  it('of a mandate', () => {
    const seen: PolicyMandate = policyMandate(MANDATE)
    expect(seen).toEqual({
      id: 'mandate-1',
      issuer: 'https://issuer.example',
      mission_ref: IDS.mission,
      depth: 2,
    })
  })
})

describe('what the record says', () => {
  it('of a standard declaration is what it says', () => {
    const { profile: _, ...rest } = view(STANDARD)
    expect(recordedIntent(intentOf(STANDARD))).toEqual(rest)
  })

  it('of a type with a mark of personal data is not the type', () => {
    const reasoning_basis = { type: 'mailto:ada@example.org', description: 'because' }
    const intent = intentOf({ ...STANDARD, reasoning_basis })
    expect(intent.reasoning?.type).toBe('mailto:ada@example.org')
    expect(recordedIntent(intent).reasoning_type).toBe('WITHHELD')
  })

  it('of a thin one are the stubs', () => {
    expect(recordedIntent(intentOf(THIN))).toEqual({
      goal_id: 'UNSPECIFIED',
      reasoning_type: 'UNSPECIFIED',
      confidence_level: '0.5',
      hem_urgency: 'NONE',
      mission_ref: null,
    })
  })
})
