import { describe, expect, it } from '@jest/globals'
import type { Caller } from '../../src/core/call/call.js'
import type { Identified, Identity } from '../../src/ports/identity.js'

/** What every driver of Identity must hold, through the port alone. */
export type OpenIdentity = () => Promise<{
  readonly identity: Identity
  /** Two agents' credentials, each known at first. */
  readonly callers: readonly [Caller, Caller]
  /** Takes the first one's credential away. */
  revoke(): void
}>
type Known = Extract<Identified, { kind: 'known' }>

export function identityContract(driver: string, open: OpenIdentity): void {
  describe(`Identity contract: ${driver}`, () => {
    const known = async (identity: Identity, caller: Caller): Promise<Known> => {
      const found = await identity.identify(caller)
      if (found.kind === 'unknown') throw new Error(found.why)
      return found
    }

    it('answers unknown for what it cannot prove', async () => {
      const { identity } = await open()
      const nobody = { bearer: 'x', certificate: null, asserted: null, source: '' }
      expect(await identity.identify(nobody)).toMatchObject({ kind: 'unknown' })
    })

    it('says at once that a revoked agent is no longer known, and only that one', async () => {
      const { identity, callers, revoke } = await open()
      const [first, second] = [await known(identity, callers[0]), await known(identity, callers[1])]
      expect([identity.isStillKnown(first), identity.isStillKnown(second)]).toEqual([true, true])
      revoke()
      expect([identity.isStillKnown(first), identity.isStillKnown(second)]).toEqual([false, true])
      expect(await identity.identify(callers[0])).toMatchObject({ kind: 'unknown' })
    })

    it('does not know an agent with a role it never had, nor a name alone that nothing names', async () => {
      const { identity, callers, revoke } = await open()
      const agent = await known(identity, callers[0])
      const { by: _, ...named } = agent
      expect(identity.isStillKnown({ ...named, roles: [...agent.roles, 'never'] })).toBe(false)
      revoke()
      expect(identity.isStillKnown(named)).toBe(false)
    })
  })
}
