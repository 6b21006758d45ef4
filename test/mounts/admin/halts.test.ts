import { describe, expect, it } from '@jest/globals'
import type { RigOptions } from '../../support/rig.js'
import { startPlane } from './harness.js'

const scopes = [
  { kind: 'all' },
  { kind: 'agent', name: 'support-bot' },
  { kind: 'tool', name: 'create_refund' },
  { kind: 'operator', name: 'acme' },
] as const

const queryOf = (scope: (typeof scopes)[number]): string =>
  new URLSearchParams({ ...scope }).toString()

describe('halts', () => {
  it.each(scopes)(
    '%j stops the next call, is signed in the journal, and resumes',
    async (scope) => {
      const plane = await startPlane()
      try {
        const halted = await plane.ask('POST', '/v1/halts', { body: { scope } })
        expect([halted.status, halted.json()]).toEqual([200, { halts: [scope], warning: null }])
        expect(await plane.refund('5.00')).toMatchObject({ kind: 'refused', code: 'halted' })
        expect(plane.received).toHaveLength(0)
        const [line] = (await plane.rig.lines()).filter(({ type }) => type === 'HALT')
        const { voter } = plane.gate.parts.tenant
        expect(line).toMatchObject({ scope, actor: voter('the-operator'), sig: expect.any(String) })
        expect(JSON.stringify(line)).not.toContain('the-operator')
        const path = `/v1/evidence/${String(line?.evidence_digest)}`
        const named = await plane.ask('GET', path)
        expect(named.json()).toMatchObject({
          parts: [{ kind: 'actor', value: { did: 'HALT', scope, name: 'the-operator' } }],
        })
        expect((await plane.ask('GET', path, { as: 'viewer' })).status).toBe(403)
        const resumed = await plane.ask('DELETE', `/v1/halts?${queryOf(scope)}`)
        expect(resumed.json()).toEqual({ halts: [], warning: null })
        expect(await plane.refund('5.00')).toMatchObject({ code: 'executed' })
        expect((await plane.ask('DELETE', `/v1/halts?${queryOf(scope)}`)).status).toBe(404)
      } finally {
        await plane.close()
      }
    },
  )

  /** Each point between the reservation and the first byte, held open while the halt goes in. */
  it.each(['before_intent', 'after_intent', 'before_first_byte'] as const)(
    'stop a call that stands at %s: not one byte leaves',
    async (point) => {
      let reached = (): void => {}
      let go = (): void => {}
      const standing = new Promise<void>((resolve) => {
        reached = resolve
      })
      const released = new Promise<void>((resolve) => {
        go = resolve
      })
      let armed = false
      const seam: NonNullable<RigOptions['seam']> = async (name) => {
        if (!armed || name !== point) return
        armed = false
        reached()
        await released
      }
      const plane = await startPlane({ seam })
      try {
        armed = true
        const call = plane.refund('5.00')
        await standing
        const halted = await plane.ask('POST', '/v1/halts', { body: { scope: { kind: 'all' } } })
        expect(halted.status).toBe(200)
        go()
        expect(await call).toMatchObject({ kind: 'refused', code: 'judgement_stale' })
        expect(plane.received).toHaveLength(0)
        const [capsule] = (await plane.rig.capsules()).slice(-1)
        expect(capsule?.capsule.disposition.verdict_class).toBe('engine_failure')
        expect(capsule?.capsule.effect).toBeUndefined()
      } finally {
        await plane.close()
      }
    },
  )

  it('outlast a restart', async () => {
    const plane = await startPlane()
    await plane.ask('POST', '/v1/halts', {
      body: { scope: { kind: 'tool', name: 'create_refund' } },
    })
    const again = await plane.rig.restart()
    try {
      expect(again.gate.read.halts()).toEqual([{ kind: 'tool', name: 'create_refund' }])
    } finally {
      await again.gate.close()
      await plane.close()
    }
  })

  it('that can match nothing here say so', async () => {
    const plane = await startPlane()
    try {
      const halt = async (scope: object): Promise<unknown> =>
        (await plane.ask('POST', '/v1/halts', { body: { scope } })).json().warning
      expect(await halt({ kind: 'tool', name: 'create_refnd' })).toMatch(/stops nothing/)
      expect(await halt({ kind: 'operator', name: 'other' })).toMatch(/stops nothing/)
      expect(await halt({ kind: 'agent', name: 'anybody' })).toBeNull()
      expect(await halt({ kind: 'session', name: 'not-yet-seen' })).toBeNull()
      await plane.gate.openSession({ sessionId: 'ended', agent: 'support-bot', by: 'olga' })
      await plane.gate.closeSession('ended', 'olga')
      expect(await halt({ kind: 'session', name: 'ended' })).toMatch(/is over/)
    } finally {
      await plane.close()
    }
  })

  it('of many at once are all in force', async () => {
    const plane = await startPlane()
    try {
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          plane.ask('POST', '/v1/halts', { body: { scope: { kind: 'agent', name: `a${i}` } } }),
        ),
      )
      expect(plane.gate.read.halts()).toHaveLength(20)
      expect(plane.gate.data.state.halts()).toHaveLength(20)
    } finally {
      await plane.close()
    }
  })
})
