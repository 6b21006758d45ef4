import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { isPossible, stateAfter, UNKNOWN_STATE } from '../../../src/core/intent/object.js'
import { MOST_STEPS, pathsTo } from '../../../src/core/intent/paths.js'
import type { ObjectModel } from '../../../src/core/manifest/model.js'
import { objectModel } from '../../support/object-model.js'

const chain = (length: number): ObjectModel => ({
  type: 'order',
  id: '{order}',
  states: Array.from({ length }, (_, nth) => `s${nth}`),
  transitions: Object.fromEntries(
    Array.from({ length: length - 1 }, (_, nth) => [
      `to${nth + 1}`,
      { from: [`s${nth}`], to: `s${nth + 1}` },
    ]),
  ),
})
const withAction = (model: ObjectModel, action: string, from: readonly string[]): ObjectModel => ({
  ...model,
  transitions: { ...model.transitions, [action]: { from, to: from[0] as string } },
})

describe('ways to a state in which an action is possible', () => {
  const model: ObjectModel = {
    type: 'order',
    id: '{order}',
    states: ['created', 'approved', 'paid', 'closed'],
    transitions: {
      approve: { from: ['created'], to: 'approved' },
      pay: { from: ['approved'], to: 'paid' },
      pay_at_once: { from: ['created'], to: 'paid' },
      ship: { from: ['paid'], to: 'closed' },
      reopen: { from: ['closed'], to: 'created' },
    },
  }

  it('are given shortest first and end before the action', () => {
    expect(pathsTo(model, 'created', 'ship', ['approve', 'pay', 'ship'], 3)).toEqual([
      { steps: ['pay_at_once'], requires_elevation: true },
      { steps: ['approve', 'pay'], requires_elevation: false },
    ])
  })

  it('begin with the first state where nothing is on record', () => {
    expect(pathsTo(model, null, 'ship', [], 1)).toEqual([
      { steps: ['pay_at_once'], requires_elevation: true },
    ])
  })

  it.each([
    ['the action is possible', 'paid', 'ship'],
    ['the action has no transition', 'created', 'read'],
    ['the action is a member that every object has', 'created', 'constructor'],
    ['the state is unknown', UNKNOWN_STATE, 'ship'],
    ['the manifest has no such state', 'archived', 'ship'],
  ])('are none where %s', (_, state, action) => {
    expect(pathsTo(model, state, action, ['pay'], 3)).toEqual([])
  })

  it('put the actions of the mandate before others of the same length', () => {
    const two: ObjectModel = {
      ...model,
      transitions: {
        a: { from: ['created'], to: 'paid' },
        b: { from: ['created'], to: 'paid' },
        ship: { from: ['paid'], to: 'closed' },
      },
    }
    expect(pathsTo(two, 'created', 'ship', ['b'], 3).map(({ steps }) => steps)).toEqual([
      ['b'],
      ['a'],
    ])
  })

  it('have at most eight steps', () => {
    const goal = (length: number) => withAction(chain(length), 'end', [`s${length - 1}`])
    expect(pathsTo(goal(MOST_STEPS + 1), 's0', 'end', [], 3)[0]?.steps).toHaveLength(MOST_STEPS)
    expect(pathsTo(goal(MOST_STEPS + 2), 's0', 'end', [], 3)).toEqual([])
  })

  it('lead there, are no detours, and are the same for any order of the manifest', () => {
    const mandated = fc.array(fc.nat(100))
    fc.assert(
      fc.property(objectModel(50), fc.nat(49), mandated, (random, at, held) => {
        const state = `s${at}`
        const mandate = held.map((nth) => `a${nth}`)
        const entries = Object.entries(random.transitions)
        const turned = { ...random, transitions: Object.fromEntries([...entries].reverse()) }
        for (const action of ['a0', 'a1', 'a2']) {
          const paths = pathsTo(random, state, action, mandate, 3)
          expect(paths.length).toBeLessThanOrEqual(3)
          expect(pathsTo(turned, state, action, mandate, 3)).toEqual(paths)
          expect(new Set(paths.map(({ steps }) => steps.join())).size).toBe(paths.length)
          for (const { steps, requires_elevation } of paths) {
            const visited = [state]
            for (const step of steps) {
              expect(isPossible(random, visited.at(-1) ?? null, action)).toBe(false)
              expect(isPossible(random, visited.at(-1) ?? null, step)).toBe(true)
              visited.push(stateAfter(random, visited.at(-1) ?? null, step))
            }
            expect(isPossible(random, visited.at(-1) ?? null, action)).toBe(true)
            expect(new Set(visited).size).toBe(visited.length)
            expect(requires_elevation).toBe(steps.some((step) => !mandate.includes(step)))
          }
          const lengths = paths.map(({ steps }) => steps.length)
          expect(lengths).toEqual([...lengths].sort((a, b) => a - b))
          const shortest = distance(random, state, action)
          expect(lengths[0] ?? null).toBe(shortest !== 0 ? shortest : null)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('are found where every state leads to every other, which has more walks than can be gone', () => {
    const states = Array.from({ length: 50 }, (_, nth) => `s${nth}`)
    const transitions = Object.fromEntries(
      states.slice(0, 49).map((to) => [`to_${to}`, { from: states, to }]),
    )
    const dense = { type: 'order', id: '{order}', states, transitions }
    expect(pathsTo(withAction(dense, 'end', ['s49']), 's0', 'end', [], 3)).toEqual([])
    expect(pathsTo(withAction(dense, 'end', ['s48']), 's0', 'end', [], 3)).toHaveLength(3)
  })
})

/** Steps to the nearest state in which the action is possible, by relaxation; null beyond eight. */
function distance(model: ObjectModel, from: string, action: string): number | null {
  const goals = model.transitions[action]?.from ?? []
  let at = new Set([from])
  for (let steps = 0; steps <= MOST_STEPS; steps++) {
    if (goals.some((goal) => at.has(goal))) return steps
    const next = new Set(at)
    for (const { from: sources, to } of Object.values(model.transitions)) {
      if (sources.some((source) => at.has(source))) next.add(to)
    }
    at = next
  }
  return null
}
