import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  type AvailableQuestion,
  availableActions,
} from '../../../src/core/intent/available-actions.js'
import { isPossible, UNKNOWN_STATE } from '../../../src/core/intent/object.js'
import { objectModel } from '../../support/object-model.js'

const asked = (more: Partial<AvailableQuestion>): AvailableQuestion => ({
  model: {
    type: 'order',
    id: '{order}',
    states: ['created', 'paid'],
    transitions: { pay: { from: ['created'], to: 'paid' }, ship: { from: ['paid'], to: 'paid' } },
  },
  state: null,
  mandateActions: ['ship', 'read', 'pay', 'note'],
  permittedStates: null,
  mayPermit: () => true,
  refused: null,
  most: 32,
  ...more,
})

describe('the actions that are open', () => {
  it.each<[string, Partial<AvailableQuestion>, readonly string[]]>([
    ['in the first state', {}, ['note', 'pay', 'read']],
    ['in another one', { state: 'paid' }, ['note', 'read', 'ship']],
    ['in an unknown state', { state: UNKNOWN_STATE }, ['note', 'read']],
    ['without the refused one', { refused: 'pay' }, ['note', 'read']],
    ['by policy', { mayPermit: (action) => action === 'pay' }, ['pay']],
    ['at most', { most: 1 }, ['note']],
    ['at most none', { most: 0 }, []],
    ['named twice by the mandate', { mandateActions: ['pay', 'pay'] }, ['pay']],
    ['in a state the mandate is for', { permittedStates: ['created'] }, ['note', 'pay', 'read']],
    ['in a state the mandate is not for', { permittedStates: ['paid'] }, []],
    ['for a mandate of no state', { permittedStates: [] }, []],
    ['unknown, and named so', { state: 'unknown', permittedStates: ['unknown'] }, []],
    ['of no object', { model: null }, ['note', 'pay', 'read', 'ship']],
    ['of no object, for a state', { model: null, permittedStates: ['created'] }, []],
  ])('%s', (_, more, actions) => {
    expect(availableActions(asked(more))).toEqual(actions)
  })

  it('are asked of policy only as far as they are listed', () => {
    const questions: string[] = []
    const mayPermit = (action: string): boolean => questions.push(action) > 0
    availableActions(asked({ mayPermit, most: 2, refused: 'note' }))
    expect(questions).toEqual(['pay', 'read'])
  })

  it('are of the mandate, possible, permitted, and the same for any order of the mandate', () => {
    const actions = fc.array(fc.nat(20).map((nth) => `a${nth}`))
    fc.assert(
      fc.property(
        objectModel(6),
        fc.option(fc.nat(5).map((nth) => `s${nth}`)),
        actions,
        actions,
        fc.nat(10),
        (model, state, mandateActions, permitted, most) => {
          const mayPermit = (action: string): boolean => permitted.includes(action)
          const question = asked({ model, state, mandateActions, mayPermit, most, refused: 'a0' })
          const open = availableActions(question)
          const all = [...new Set(mandateActions)].filter(
            (action) => action !== 'a0' && mayPermit(action) && isPossible(model, state, action),
          )
          expect(open).toEqual(all.sort().slice(0, most))
          const turned = { ...question, mandateActions: [...mandateActions].reverse() }
          expect(availableActions(turned)).toEqual(open)
        },
      ),
    )
  })
})
