import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { cedarRequest } from '../../../src/adapters/cedar/evaluate/request.js'
import { cedarSchema } from '../../../src/adapters/cedar/schema.js'
import type { Plain } from '../../../src/core/json/value.js'
import { askedBefore } from '../../../src/gate/answer/asked-before.js'
import { CEDAR_RECORD } from '../../../src/gate/govern/authorize.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'
import {
  INTENT_RULES,
  intentRequest,
  MANDATE,
  request,
  STANDARD,
} from '../../adapters/cedar/intents.js'

const schema = cedarSchema(INTENT_RULES)
const asCedarHasIt = (asked: PolicyRequest): Plain => {
  const shape = schema.ok ? schema.schema.actions.find((s) => s.action === asked.action) : undefined
  const built = shape === undefined ? null : cedarRequest(shape, asked)
  if (built?.ok !== true) throw new Error(JSON.stringify(built))
  return JSON.parse(JSON.stringify(built.request))
}
const partOf = (request: Plain) => [
  { digest: '0'.repeat(64), kind: 'cedar' as const, name: CEDAR_RECORD, value: { request } },
]
const agentOf = ({ principal, roles, developer }: PolicyRequest) =>
  ({ kind: 'known', agent: principal, roles, developer }) as Parameters<typeof askedBefore>[1]

describe('what policy was asked before', () => {
  it('comes back from its evidence, declaration and mandate included, as the same question', () => {
    fc.assert(
      fc.property(request, (asked) => {
        const cedar = asCedarHasIt(asked)
        const again = askedBefore(partOf(cedar), agentOf(asked))
        if (again === null) throw new Error('not read')
        const confidence_level = again.idp?.confidence_level ?? null
        expect(again).toEqual({
          ...asked,
          approval: { granted: false },
          // Cedar’s form of a whole number has a point.
          ...(asked.idp === undefined ? {} : { idp: { ...asked.idp, confidence_level } }),
        })
        expect(Number(confidence_level)).toBe(Number(asked.idp?.confidence_level ?? null))
        expect(asCedarHasIt({ ...again, approval: asked.approval })).toEqual(cedar)
      }),
    )
  })

  it.each<[string, (context: { [name: string]: Plain }) => Plain]>([
    ['a declaration without profile', (context) => ({ ...context, idp: {} })],
    ['a declaration that is none', (context) => ({ ...context, idp: null })],
    ['a mandate without id', (context) => ({ ...context, mandate: { issuer: 'i', depth: 1 } })],
    ['a mandate that is none', (context) => ({ ...context, mandate: 'm' })],
  ])('is not known from %s', (_case, change) => {
    const asked = intentRequest('req', { idp: STANDARD, mandate: MANDATE })
    const cedar = asCedarHasIt(asked) as { readonly context: { [name: string]: Plain } }
    const part = partOf({ ...cedar, context: change(cedar.context) })
    expect(askedBefore(part, agentOf(asked))).toBeNull()
  })
})
