import { describe, expect, it } from '@jest/globals'
import { createMemory } from '../../src/gate/memory.js'

const memory = () => createMemory({ agentBodyBytes: 100, heldBytes: 50 })

describe('bodies', () => {
  it('of one agent share its room, and do not touch that of another', () => {
    const { bodyOf } = memory()
    const [one, two, other] = [bodyOf('a'), bodyOf('a'), bodyOf('b')]
    expect([one.take(60), two.take(41), two.take(40), other.take(100)]).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  it('give back what they took, once', () => {
    const { bodyOf } = memory()
    const [one, two] = [bodyOf('a'), bodyOf('a')]
    one.take(30)
    one.take(30)
    two.take(40)
    one.giveBack()
    one.giveBack()
    expect(two.take(61)).toBe(false)
    expect(two.take(60)).toBe(true)
  })

  it('that were refused have taken nothing', () => {
    const { bodyOf } = memory()
    const one = bodyOf('a')
    expect(one.take(101)).toBe(false)
    one.giveBack()
    expect(bodyOf('a').take(100)).toBe(true)
  })
})

describe('held responses', () => {
  it('share one room among all callers', () => {
    const { hold } = memory()
    expect(hold(30)).not.toBeNull()
    expect(hold(21)).toBeNull()
    expect(hold(20)).not.toBeNull()
  })

  it('give back what a shorter response does not need, and the rest once', () => {
    const { hold } = memory()
    const held = hold(50)
    held?.shrinkTo(20)
    held?.shrinkTo(40)
    expect(hold(31)).toBeNull()
    const rest = hold(30)
    held?.letGo()
    held?.letGo()
    expect(hold(21)).toBeNull()
    rest?.letGo()
    expect(hold(50)).not.toBeNull()
  })
})
