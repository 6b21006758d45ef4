import { afterEach, beforeEach } from '@jest/globals'
import type { HttpCall } from '../../src/core/call/call.js'
import { type LineOf, type LineType, readLine } from '../../src/core/journal/vocabulary.js'
import type { Problem } from '../../src/core/verdict/problem.js'
import type { Answer } from '../../src/gate/answer/answer.js'
import type { Upstream } from '../../src/ports/upstream.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  type BookingAction,
  bookingCall,
  type Claims,
  carried,
  mandateIssuer,
  type Steps,
  stepsOf,
} from './intents.js'
import { type RawUpstream, rawUpstream } from './raw-upstream.js'
import { type Rig, type RigOptions, rig, sending, upstreamTo } from './rig.js'
import { fine } from './verdict-scenarios.js'

/** A gate on manifests/booking.yaml for each test of a file, an agent with a mandate, and what it reached. */
export type BookingGate = {
  at: Rig
  steps: Steps
  readonly issuer: ReturnType<typeof mandateIssuer>
  upstream: Upstream
  server: RawUpstream
  /** Closes it, does what is given, and opens it again on the same folder or, `fresh`, on a new one. */
  reopen(more: Partial<RigOptions>, between?: 'fresh' | ((dir: string) => void)): Promise<void>
  send(call: HttpCall, sent?: HttpCall): Promise<Answer>
  call(action: BookingAction, intent: Claims | null, more?: Partial<HttpCall>): Promise<Answer>
  /** Lines of one type, in order. */
  lines<T extends LineType>(type: T): Promise<LineOf<T>[]>
  types(): Promise<string[]>
}

export function bookingGate(): BookingGate {
  const issuer = mandateIssuer()
  const options = { manifest: BOOKING, policies: BOOKING_POLICIES, mandateIssuers: issuer.options }
  const gate = {
    issuer,
    async reopen(more: Partial<RigOptions>, between?: 'fresh' | ((dir: string) => void)) {
      const { dir } = gate.at
      await (between === 'fresh' ? gate.at.close() : gate.at.gate.close())
      if (typeof between === 'function') between(dir)
      gate.at = await rig({ ...options, ...more }, between === 'fresh' ? undefined : dir)
    },
    send: (call: HttpCall, sent = call) => gate.at.gate.govern(call, sending(gate.upstream, sent)),
    call: (action: BookingAction, intent: Claims | null, more = {}) =>
      gate.send(bookingCall(action, gate.steps.booking, carried(intent, gate.steps.mandate), more)),
    async lines<T extends LineType>(type: T) {
      const read = (await gate.at.lines()).map((raw) => readLine(raw))
      return read.filter((line): line is LineOf<T> => line?.type === type)
    },
    async types() {
      const types = (await gate.at.lines()).map(({ type }) => type)
      return types.filter((type) => type !== 'HEAD' && type !== 'CONFIG_CHANGED').slice(1)
    },
  } as BookingGate
  beforeEach(async () => {
    gate.at = await rig(options)
    gate.steps = stepsOf(issuer)
    gate.server = await rawUpstream(fine)
    gate.upstream = upstreamTo(gate.server.origin)
  })
  afterEach(async () => {
    await gate.upstream.close()
    await gate.server.close()
    await gate.at.close()
  })
  return gate
}

/** What the caller was told; throws for an answer that is no problem document. */
export function problemIn(answer: Answer): Problem {
  if ('problem' in answer) return answer.problem
  throw new Error(`${answer.kind} has no problem`)
}
