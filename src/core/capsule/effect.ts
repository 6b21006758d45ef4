import type { EffectMeta, Ran, Verdict } from './input.js'
import type { Effect } from './model.js'
import { ObservedResponse } from './observation.js'

/** The Effect Record (seed §5.2) out of what was observed; undefined where nothing left the gate. */
export function effectOf(verdict: Verdict): Effect | undefined {
  switch (verdict.kind) {
    case 'refused':
    case 'disposed':
    case 'timed_out':
      return undefined
    case 'recovered':
      return dispatched(verdict.effect, attestation(verdict.effect))
    case 'ungated':
      return dispatched(verdict.effect, 'runtime_claimed')
    case 'ran':
      return observed(verdict)
  }
}

const CUT_SHORT: readonly string[] = ['errored', 'timeout']
const ENDED: readonly string[] = ['executed', 'errored']
const UNSEEN: readonly string[] = ['sent', 'claimed']

/** `gate_executed` is for what the gate itself sent (seed §5.2); of a permit it knows only that it gave it. */
const attestation = ({ acts }: EffectMeta): 'gate_executed' | 'runtime_claimed' =>
  acts === 'runtime' ? 'runtime_claimed' : 'gate_executed'

function observed({ observation, effect, verdict_class }: Ran): Effect {
  const classes = observation.kind === 'sent' ? CUT_SHORT : ENDED
  if (!classes.includes(verdict_class))
    throw new TypeError(`${verdict_class} does not follow from ${observation.kind}`)
  if (effect.acts === 'runtime' && !UNSEEN.includes(observation.kind))
    throw new TypeError('what a runtime does is not seen by the gate')
  switch (observation.kind) {
    case 'sent':
      if (verdict_class === 'timeout' && !observation.deadline)
        throw new TypeError('timeout without a deadline that passed')
      return dispatched(effect, attestation(effect))
    case 'unfinished':
      if (verdict_class !== 'executed') throw new TypeError('a call that was taken on is executed')
      return dispatched(effect, 'gate_executed')
    case 'claimed':
      // A runtime's word is recorded as its word: never confirmed (promise 3, seed §5.2). It threw, so
      // the state is unknown: dispatched. It returned a clean failure: failed (seed §5.4.2).
      if (observation.ok && verdict_class !== 'executed')
        throw new TypeError('a claimed success is executed')
      if (observation.ok || verdict_class === 'errored')
        return dispatched(effect, 'runtime_claimed')
      return claimed(effect, 'failed', observation.resultDigest)
    case 'complete':
      return answered(
        effect,
        observation.response,
        observation.outcome === 'succeeded' && verdict_class === 'executed'
          ? 'confirmed'
          : 'failed',
      )
  }
}

/** Needs the witnessed response itself: the one maker of `confirmed` (promise 3). */
export function answered(
  effect: EffectMeta,
  response: ObservedResponse,
  status: 'confirmed' | 'failed' | 'reverted',
): Effect {
  const seen = ObservedResponse.seenOf(response)
  if (seen === null || seen.requestSent !== true || seen.octets.complete !== true)
    throw new TypeError('not a response the gate read to its end')
  const external_ref = seen.externalRef ?? effect.external_ref
  // In order and in one piece: nearly every call that runs has exactly this shape.
  const answer: Effect = {
    'dev.capsulegate.request_octets': effect.request_octets,
    'dev.capsulegate.response_binding': seen.binding,
    'dev.capsulegate.response_octets': seen.octets,
    effect_attestation: 'gate_executed',
    irreversibility_class: effect.irreversibility_class,
    request_digest: effect.request_digest,
    response_digest: seen.responseDigest,
    status,
    type: effect.type,
  }
  return external_ref === undefined ? answer : { ...answer, external_ref }
}

/** What a runtime reported; the digest of its result where it gave one. */
export const claimed = (
  effect: EffectMeta,
  status: 'failed' | 'reverted',
  response_digest: string | undefined,
): Effect => ({
  ...request(effect),
  status,
  effect_attestation: 'runtime_claimed',
  ...(response_digest === undefined ? {} : { response_digest }),
})

export const dispatched = (
  effect: EffectMeta,
  effect_attestation: 'gate_executed' | 'runtime_claimed',
): Effect => ({ ...request(effect), status: 'dispatched', effect_attestation })

/** The members that every record of an effect has. */
const request = (effect: EffectMeta) => ({
  type: effect.type,
  irreversibility_class: effect.irreversibility_class,
  request_digest: effect.request_digest,
  'dev.capsulegate.request_octets': effect.request_octets,
  ...(effect.external_ref === undefined ? {} : { external_ref: effect.external_ref }),
})
