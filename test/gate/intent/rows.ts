import { expect } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { type Code, TABLE } from '../../../src/core/verdict/table.js'
import { decisionOfRow } from '../../../src/core/verdict/verdict.js'
import { verifyStatement } from '../../../src/core/verify/statement.js'
import { statementOf } from '../../../src/gate/operate/prove.js'
import type { CapsuleLine, Rig } from '../../support/rig.js'

/** The capsule is that row, signed and strictly Class 1. */
export function expectRow(code: Code, { capsule, ...line }: CapsuleLine, at: Rig, human = false) {
  const { verdict, effect } = TABLE[code]
  expect(capsule.disposition).toMatchObject({
    verdict_class: verdict,
    decision: decisionOfRow(code),
    approver: human ? 'human' : 'policy',
    human_disposed: human,
  })
  expect(capsule.effect?.status ?? 'none').toBe(effect)
  const verified = verifyStatement(statementOf({ capsule, ...line }), {
    keys: at.gate.data.keys(),
    crypto: nodeCrypto,
  })
  expect(verified).toMatchObject({ ok: true, signature: { ok: true } })
  expect(verified.class1?.findings.filter(({ severity }) => severity !== 'info')).toEqual([])
}
