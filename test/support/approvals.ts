import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import { utf8 } from '../../src/core/bytes/text.js'
import { ObservedResponse } from '../../src/core/capsule/observation.js'
import type { Decider, Outcome } from '../../src/gate/approval/decide/model.js'
import type { Clock, Timer } from '../../src/ports/clock.js'
import type { Dispatch, Dispatched } from '../../src/ports/dispatch.js'
import type { Approval } from '../../src/ports/state.js'

/** Time that a test moves: wall and monotonic clock, and what waits for them. */
export type FakeTime = {
  readonly clock: Clock
  readonly timer: Timer
  advance(seconds: number): void
  /** The wall clock alone, as an administrator or a bad time server moves it. */
  jump(seconds: number): void
  waiting(): number
}

export function fakeTime(start = Date.parse('2026-03-01T12:00:00.000Z')): FakeTime {
  let wall = start
  let mono = 0
  const waits = new Set<{ at: number; run: () => void }>()
  return {
    clock: { now: () => wall, monotonic: () => mono },
    timer: {
      after(ms, run) {
        const wait = { at: mono + ms, run }
        waits.add(wait)
        return () => waits.delete(wait)
      },
    },
    advance(seconds) {
      wall += seconds * 1000
      mono += seconds * 1000
      for (const wait of [...waits]) {
        if (wait.at > mono) continue
        waits.delete(wait)
        wait.run()
      }
    },
    jump(seconds) {
      wall += seconds * 1000
    },
    waiting: () => waits.size,
  }
}

export const person = (name: string, more: Partial<Extract<Decider, { kind: 'person' }>> = {}) =>
  ({
    kind: 'person',
    name,
    roles: ['approver'],
    assurance: 'L1',
    via: 'session',
    ...more,
  }) as const
export const machine = (name: string) => ({ kind: 'machine', name, roles: ['approver'] }) as const

/** Decides on what is open now, as somebody who was shown its document. */
export async function decide(
  gate: Pick<RunningGate, 'resolve' | 'parts'>,
  approvalId: string,
  decider: Decider,
  outcome: Outcome,
) {
  const approval = await gate.parts.state.approval(approvalId)
  const documentDigest = approval?.documentDigest ?? '0'.repeat(64)
  return gate.resolve({ approvalId, documentDigest, decider, outcome })
}

export async function approvalOf(gate: Pick<RunningGate, 'parts'>, id: string): Promise<Approval> {
  const approval = await gate.parts.state.approval(id)
  if (approval === null) throw new Error(`no approval ${id}`)
  return approval
}

const BODY = utf8('{"ok":true}')
const digest = Buffer.from(nodeCrypto.sha256(BODY)).toString('hex')
/** A complete answer without a socket; sockets have their own suites. */
export const answered = (): Dispatched => ({
  observation: {
    kind: 'complete',
    outcome: 'succeeded',
    response: ObservedResponse.witness({
      framing: 'content_length',
      requestSent: true,
      status: 200,
      octets: { alg: 'sha-256', digest, length: BODY.length, status: 200, complete: true },
      binding: 'octets',
      responseDigest: digest,
    }),
  },
  held: { status: 200, headers: [['content-type', 'application/json']], body: BODY },
})

/** A tool that counts what reached it. */
export function tool(answer: () => Dispatched | Promise<Dispatched> = answered) {
  const sent: string[] = []
  const dispatch: Dispatch = async ({ actionId, stillAllowed }) => {
    if (!stillAllowed()) {
      return { observation: { kind: 'not_sent', cause: 'withdrawn', deadline: false }, held: null }
    }
    const result = await answer()
    if (result.observation.kind !== 'not_sent') sent.push(actionId)
    return result
  }
  return { sent, dispatch }
}
export const unreachable = (): Dispatched => ({
  observation: { kind: 'not_sent', cause: 'connect_refused', deadline: false },
  held: null,
})
