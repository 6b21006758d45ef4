import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  actionsIn,
  isPossible,
  stateAfter,
  UNKNOWN_STATE,
} from '../../../src/core/intent/object.js'
import type { ObjectModel } from '../../../src/core/manifest/model.js'
import { objectModel } from '../../support/object-model.js'

const ORDER: ObjectModel = {
  type: 'order',
  id: '{order}',
  states: ['created', 'paid', 'shipped'],
  transitions: {
    pay: { from: ['created'], to: 'paid' },
    ship: { from: ['paid'], to: 'shipped' },
    cancel: { from: ['created', 'paid'], to: 'created' },
  },
}

describe('the state of an object', () => {
  it('is the first one where nothing is on record', () => {
    expect(isPossible(ORDER, null, 'pay')).toBe(true)
    expect(isPossible(ORDER, null, 'ship')).toBe(false)
    expect(actionsIn(ORDER, null)).toEqual(['cancel', 'pay'])
    expect(actionsIn(ORDER, 'paid')).toEqual(['cancel', 'ship'])
    const more = { ...ORDER.transitions, archive: { from: ['created'], to: 'paid' } }
    expect(actionsIn({ ...ORDER, transitions: more }, null)).toEqual(['archive', 'cancel', 'pay'])
    const turned = Object.fromEntries(Object.entries(more).reverse())
    expect(actionsIn({ ...ORDER, transitions: turned }, null)).toEqual(['archive', 'cancel', 'pay'])
  })

  it.each([
    [null, 'pay', 'paid'],
    ['created', 'pay', 'paid'],
    ['paid', 'cancel', 'created'],
    ['paid', 'read', 'paid'],
    [null, 'read', 'created'],
    [UNKNOWN_STATE, 'read', UNKNOWN_STATE],
  ])('from %s by %s is %s', (state, action, after) => {
    expect(stateAfter(ORDER, state, action)).toBe(after)
  })

  it('is unknown after an action that was not possible in it', () => {
    expect(stateAfter(ORDER, 'paid', 'pay')).toBe(UNKNOWN_STATE)
    expect(stateAfter(ORDER, UNKNOWN_STATE, 'pay')).toBe(UNKNOWN_STATE)
  })

  it('admits no transition while it is unknown, or one that the manifest has no more', () => {
    for (const state of [UNKNOWN_STATE, 'archived']) {
      expect(actionsIn(ORDER, state)).toEqual([])
      expect(isPossible(ORDER, state, 'ship')).toBe(false)
      expect(isPossible(ORDER, state, 'read')).toBe(true)
    }
  })

  it('takes names of object members for actions like any other', () => {
    for (const action of ['constructor', '__proto__', 'toString']) {
      expect(isPossible(ORDER, 'paid', action)).toBe(true)
      expect(stateAfter(ORDER, 'paid', action)).toBe('paid')
    }
  })

  it('admits no transition while it is unknown even in a model that names it', () => {
    const model = { ...ORDER, transitions: { pay: { from: [UNKNOWN_STATE], to: 'paid' } } }
    expect(isPossible(model, UNKNOWN_STATE, 'pay')).toBe(false)
  })

  it('stays in the model or becomes unknown for good, whatever happens', () => {
    fc.assert(
      fc.property(objectModel(8), fc.array(fc.nat(20)), (model, taken) => {
        let state: string | null = null
        for (const action of taken.map((nth) => `a${nth}`)) {
          const before: string | null = state
          state = stateAfter(model, before, action)
          expect([...model.states, UNKNOWN_STATE]).toContain(state)
          if (before === UNKNOWN_STATE) expect(state).toBe(UNKNOWN_STATE)
          if (actionsIn(model, before).includes(action)) {
            expect(state).toBe(model.transitions[action]?.to)
          }
        }
      }),
    )
  })
})
