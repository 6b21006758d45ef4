import { afterAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { engineFor, REFUND_RULES, removeFolders } from './folder.js'
import { RULES, request, setText } from './random-sets.js'

afterAll(removeFolders)

const asking = (change: Partial<Parameters<Engine['mayPermit']>[0]> = {}) => ({
  principal: 'bot',
  roles: ['finance'],
  action: 'search',
  resource: 'search',
  ...change,
})
type Engine = Awaited<ReturnType<typeof engineFor>>

const ACTION = 'action == Action::"search"'

describe('mayPermit', () => {
  it.each([
    ['principal == Agent::"bot"', true],
    ['principal == Agent::"other"', false],
    ['principal in Agent::"bot"', true],
    ['principal in Role::"finance"', true],
    ['principal in Role::"bot"', false],
    ['principal is Agent', true],
    ['principal is Agent in Role::"finance"', true],
    ['principal is Agent in Role::"ops"', false],
  ])('reads the head (%s, …)', async (principal, expected) => {
    const engine = await engineFor(
      `@id("p") permit (${principal}, ${ACTION}, resource) when { context.args.limit > 5 };`,
      REFUND_RULES,
    )
    expect(engine.mayPermit(asking())).toBe(expected)
    expect(engine.mayPermit(asking({ action: 'create_refund' }))).toBe(false)
  })

  it.each([
    ['resource == Tool::"search"', true],
    ['resource in Tool::"search"', true],
    ['resource is Tool', true],
    ['resource is Tool in Tool::"other"', false],
    ['resource == Tool::"other"', false],
  ])('reads the head (…, %s)', async (resource, expected) => {
    const engine = await engineFor(
      `@id("p") permit (principal, action in [Action::"search"], ${resource});`,
      REFUND_RULES,
    )
    expect(engine.mayPermit(asking())).toBe(expected)
  })

  it('knows forbids that nothing in a call can lift, and only those', async () => {
    const permit = `@id("p") permit (principal, action, resource);`
    const may = async (policy: string) =>
      (await engineFor(`${permit}\n${policy}`, REFUND_RULES)).mayPermit(asking())
    const forbid = `forbid (principal in Role::"finance", ${ACTION}, resource)`
    expect(await may(`@id("f") ${forbid};`)).toBe(false)
    expect(await may(`@id("f") ${forbid} when { context.args.limit > 5 };`)).toBe(true)
    expect(
      await may(`@id("f") @hem("required") ${forbid} unless { context.approval.granted };`),
    ).toBe(true)
    expect(await may(`@id("f") @mode("observe") ${forbid};`)).toBe(true)
    expect(await may(`@id("f") ${forbid.replace('finance', 'ops')};`)).toBe(true)
    expect(await may(`@id("f") ${forbid.replace('search', 'create_refund')};`)).toBe(true)
  })

  it('takes a permit on trial for none', async () => {
    const engine = await engineFor(
      `@id("p") @mode("observe") permit (principal, ${ACTION}, resource);`,
      REFUND_RULES,
    )
    expect(engine.mayPermit(asking())).toBe(false)
  })

  it('tells callers apart whose names run into each other', async () => {
    const engine = await engineFor(
      `@id("p") permit (principal == Agent::"a", ${ACTION}, resource == Tool::"b");`,
      REFUND_RULES,
    )
    expect(engine.mayPermit(asking({ principal: 'a', roles: [], resource: 'b' }))).toBe(true)
    expect(engine.mayPermit(asking({ principal: 'a","b', roles: [], resource: 'b' }))).toBe(false)
    expect(engine.mayPermit(asking({ principal: 'b', roles: ['a'], resource: 'b' }))).toBe(false)
    expect(engine.mayPermit(asking({ principal: 'a', roles: ['b'], resource: 'b' }))).toBe(true)
  })

  it('is true wherever a random set permits or asks, whatever the arguments', async () => {
    const seen = { let: 0, listed: 0, hidden: 0 }
    await fc.assert(
      fc.asyncProperty(
        setText,
        fc.array(request, { minLength: 60, maxLength: 60 }),
        async (text, requests) => {
          fc.pre(text !== '')
          const engine = await engineFor(text, RULES)
          for (const asked of requests) {
            const may = engine.mayPermit(asked)
            seen[may ? 'listed' : 'hidden']++
            const { kind } = engine.decide(asked)
            if (kind !== 'permit' && kind !== 'ask') continue
            seen.let++
            expect({ text, asked, may }).toEqual({ text, asked, may: true })
          }
        },
      ),
      // Each try loads a set: to shrink a failure would take minutes and tell no more.
      { numRuns: 30, endOnFailure: true },
    )
    // Not vacuous: enough were let through, and enough were hidden.
    expect(Math.min(seen.let, seen.listed - seen.let, seen.hidden)).toBeGreaterThan(50)
  })
})
