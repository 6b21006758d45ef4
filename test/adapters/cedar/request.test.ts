import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { cedarRequest } from '../../../src/adapters/cedar/evaluate/request.js'
import type { ActionShape } from '../../../src/adapters/cedar/schema.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'

const SHAPE: ActionShape = {
  action: 'pay',
  args: [
    { name: 'constructor', type: 'string', optional: true },
    { name: 'd', type: 'decimal', optional: true },
    { name: 'n', type: 'integer', optional: true },
    { name: 's', type: 'string', optional: false },
    { name: 'tags', type: 'strings', optional: true },
  ],
}
const asking = (args: PolicyRequest['args'], roles: readonly string[] = []): PolicyRequest => ({
  principal: 'a',
  roles,
  developer: 'acme',
  action: 'pay',
  resource: 'x',
  irreversibility: 'two_way',
  args,
  approval: { granted: false },
})
const MAX_BYTES = 64 * 1024

describe('the size of a Cedar request', () => {
  it('is too large exactly when its JSON has more bytes than the limit', () => {
    const seen = new Set<boolean>()
    // One, two, three and six bytes to the unit, so that every estimate meets its limit somewhere.
    const unit = fc.constantFrom('x', 'é', '€', '\u0001', '"', '😀')
    const size = fc.oneof(
      fc.integer({ min: 10_000, max: 70_000 }),
      fc.integer({ min: MAX_BYTES - 700, max: MAX_BYTES }),
    )
    fc.assert(
      fc.property(
        unit,
        size,
        fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 20 }),
        fc.option(fc.maxSafeInteger(), { nil: undefined }),
        fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 3 }),
        (character, length, tags, n, roles) => {
          const args = { s: character.repeat(length), tags, ...(n === undefined ? {} : { n }) }
          const built = cedarRequest(SHAPE, asking(args, roles))
          const small = cedarRequest(SHAPE, asking({ ...args, s: '' }, roles))
          if (!small.ok) throw new Error(small.detail)
          const { context } = small.request
          const whole = {
            ...small.request,
            context: { ...context, args: { ...context.args, s: args.s } },
          }
          const tooLarge = Buffer.byteLength(JSON.stringify(whole)) > MAX_BYTES
          seen.add(tooLarge)
          expect(built.ok ? 'fits' : built.errorClass).toBe(tooLarge ? 'args_too_large' : 'fits')
        },
      ),
      { numRuns: 200 },
    )
    expect(seen.size).toBe(2)
  })
})

describe('the arguments of a Cedar request', () => {
  it('refuses one that the action does not declare, and takes inherited names for absent', () => {
    expect(cedarRequest(SHAPE, asking({ s: 'x' }))).toMatchObject({ ok: true })
    expect(cedarRequest(SHAPE, asking({ s: 'x', other: 'y' }))).toMatchObject({
      ok: false,
      errorClass: 'args_invalid',
    })
    const built = cedarRequest(SHAPE, asking({ s: 'x' }))
    expect(built.ok && Object.keys(built.request.context.args)).toEqual(['s'])
  })
})
