import { afterAll, describe, expect, it } from '@jest/globals'
import { findingsOf, removeFolders } from './folder.js'
import { INTENT_RULES } from './intents.js'

afterAll(removeFolders)
const found = (text: string) => findingsOf(`@id("x") ${text};`, INTENT_RULES)
const codes = async (text: string) =>
  (await found(text)).map(({ severity, code }) => `${severity} ${code}`)
const on = (effect: string, action: string, conditions: string) =>
  `${effect} (principal, action == Action::"${action}", resource) ${conditions}`
const forbid = (conditions: string, action = 'req') => on('forbid', action, conditions)

const HAS = 'context.idp has confidence_level'
const LOW = 'context.idp.confidence_level.lessThan(decimal("0.3"))'

describe('a forbid that is passed by declaring less', () => {
  it.each<[string, string]>([
    ['when { has && … }', `when { ${HAS} && ${LOW} }`],
    ['else false, even said aloud', `when { if ${HAS} then ${LOW} else false }`],
    ['another condition in the else', `when { if ${HAS} then ${LOW} else context.args.n > 5 }`],
    ['else true under unless', `unless { if ${HAS} then ${LOW} else true }`],
    ['unless { !(has …) }', `unless { !(${HAS}) }`],
    ['a test that is compared', `when { (if ${HAS} then ${LOW} else true) == true }`],
    [
      'tested beside an argument',
      `when { if ${HAS} && context.args has s then ${LOW} else false }`,
    ],
  ])('is refused: %s', async (_case, conditions) => {
    expect(await codes(forbid(conditions))).toEqual(['error absence_lets_through'])
  })

  it.each<[string, string, string]>([
    [
      'reasoning_basis',
      'req',
      'context.idp has reasoning_basis.type && context.idp.reasoning_basis.type == "x"',
    ],
    ['hem_urgency', 'req', 'context.idp has hem_urgency && context.idp.hem_urgency == "NONE"'],
    ['goal_id', 'req', 'context.idp has goal_id && context.idp.goal_id == "g"'],
    ['mission_ref', 'req', 'context.idp has mission_ref && context.idp.mission_ref == "m"'],
    [
      'mandate.mission_ref',
      'req',
      'context.mandate has mission_ref && context.mandate.mission_ref == "m"',
    ],
    ['context.idp', 'opt', 'context has idp && context.idp.profile == "IDP_THIN"'],
    ['context.mandate', 'opt', 'context has mandate && context.mandate.depth > 3'],
  ])('by leaving out %s', async (name, action, condition) => {
    const findings = await found(forbid(`when { ${condition} }`, action))
    expect(findings.map(({ code }) => code)).toEqual(['absence_lets_through'])
    expect(findings[0]?.message).toContain(`${name}"`)
  })

  it('one step inside another: only what the test itself is about', async () => {
    const conditions = `when { if context has idp then ${HAS} && ${LOW} else true }`
    const messages = (await found(forbid(conditions, 'opt'))).map(({ message }) => message)
    expect(messages).toEqual([expect.stringContaining('"context.idp.confidence_level"')])
    const both = await found(forbid(`when { context has idp.confidence_level && ${LOW} }`, 'opt'))
    expect(both.map(({ message }) => message)).toEqual([
      expect.stringContaining('"context.idp"'),
      expect.stringContaining('"context.idp.confidence_level"'),
    ])
  })

  it('is named with its attribute and the way out', async () => {
    const [finding] = await found(forbid(`when { ${HAS} && ${LOW} }`))
    expect(finding?.message).toBe(
      'a call without the optional attribute "context.idp.confidence_level" passes this forbid',
    )
    expect(finding?.help).toBe(
      'let absence refuse: unless { context.idp has confidence_level && … }, or when { if context.idp has confidence_level then … else true }',
    )
  })
})

describe('absence is taken', () => {
  it.each<[string, string]>([
    ['unless { has && ok }', forbid(`unless { ${HAS} && !${LOW} }`)],
    ['if has then … else true', forbid(`when { if ${HAS} then ${LOW} else true }`)],
    [
      'beside another condition',
      forbid(`when { context.args.n > 5 && (if ${HAS} then ${LOW} else true) }`),
    ],
    [
      'of the whole declaration',
      forbid(`when { if context has idp && ${HAS} then ${LOW} else true }`, 'opt'),
    ],
    [
      'where a person may lift it',
      `@hem("required") ${forbid(
        `when { if ${HAS} then ${LOW} && !context.approval.granted else !context.approval.granted }`,
      )}`,
    ],
    [
      'of what the action requires',
      forbid('when { context has idp && context.idp.profile == "IDP_THIN" }'),
    ],
    ['permit when { has && ok }', on('permit', 'req', `when { ${HAS} && !${LOW} }`)],
    ['permit else false', on('permit', 'req', `when { if ${HAS} then ${LOW} else false }`)],
  ])('%s', async (_case, text) => {
    expect(await codes(text)).toEqual([])
  })

  it.each([`unless { ${HAS} && ${LOW} }`, `when { if ${HAS} then !${LOW} else true }`])(
    'with a warning where it passes a permit: %s',
    async (conditions) => {
      expect(await codes(on('permit', 'req', conditions))).toEqual(['warning absence_lets_through'])
    },
  )
})
