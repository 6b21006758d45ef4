import { describe, expect, it } from '@jest/globals'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { capsuleEntry } from '../../../src/core/journal/entry.js'
import { toSign } from '../../../src/core/statement/sign.js'
import { approvalOf } from '../../support/approvals.js'
import { openItems } from '../../support/open-items.js'
import { ask, at, newest, restart, run, say, start } from './harness.js'

describe('after power was lost between two lines of one append', () => {
  it('closes a question that nobody was ever asked', async () => {
    await start()
    await ask()
    const line = await newest()
    const capsule: Capsule = {
      ...line.capsule,
      'dev.capsulegate.decision_id': '019ca945-0a00-7000-8000-000000000000',
      capsule_id: 'e'.repeat(64),
    }
    const statement = 'agent_action'
    const entry = capsuleEntry(toSign(capsule, statement), { capsule, statement })
    await at.gate.data.journal.append([entry])
    expect(at.gate.data.state.unasked()).toHaveLength(1)
    await restart()
    expect(at.gate.data.state.unasked()).toEqual([])
    expect((await newest()).capsule).toMatchObject({
      chain: { parent_capsule_id: 'e'.repeat(64) },
      disposition: { verdict_class: 'engine_failure' },
    })
    expect(await openItems(at.gate.data.state)).toHaveLength(1)
  })

  it('gives the grant that a complete quorum was due', async () => {
    await start()
    const { actionId } = await ask()
    const { append } = at.gate.data.journal
    const journal = at.gate.parts.journal as { append: typeof append }
    journal.append = (entries, options) =>
      append(
        entries.filter(({ type }) => type !== 'GRANT_ISSUED'),
        options,
      )
    await say(actionId)
    journal.append = append
    expect((await approvalOf(at.gate, actionId)).state.kind).toBe('pending')
    await restart()
    expect((await approvalOf(at.gate, actionId)).state.kind).toBe('approved')
    expect(await run()).toMatchObject({ code: 'executed' })
  })
})
