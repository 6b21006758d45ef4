import { utf8 } from '../../core/bytes/text.js'
import type { Verified } from '../../ports/journal.js'
import type { Parts } from '../context.js'

/** One thing that the gate needs to be ready. */
export type Check = { readonly name: string; readonly ok: boolean; readonly detail: string | null }

/** Not a prefix of any statement or event. */
const PROBE = utf8('capsule-gate/readiness\n')

/** What the gate needs to judge and record, as of now. */
export function checksOf(parts: Parts): readonly Check[] {
  const { signer } = parts
  return [
    health('journal', parts),
    health('evidence', parts),
    attempt('keys', () => {
      for (const purpose of ['statement', 'event'] as const) signer.sign(purpose, PROBE)
    }),
    attempt('policy', () => {
      if (parts.world().policy.policyIds.length === 0) throw new Error('no policy is loaded')
    }),
  ]
}

function health(name: 'journal' | 'evidence', parts: Parts): Check {
  const { ok, reason: detail } = parts[name].health()
  return { name, ok, detail }
}

function attempt(name: string, run: () => void): Check {
  try {
    run()
    return { name, ok: true, detail: null }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}

/** Damage in an old segment turns readiness off; not having read it all yet does not (DESIGN §5). */
export function watchVerification({ journal }: Pick<Parts, 'journal'>): () => Check {
  const name = 'background_verification'
  let verified: Verified | null = null
  void journal.verified.then((result) => {
    verified = result
  })
  return () =>
    verified === null
      ? { name, ok: true, detail: 'under way' }
      : { name, ok: verified.damage === null, detail: verified.damage }
}
