import { utf8 } from '../../core/bytes/text.js'
import type { Verified } from '../../ports/journal.js'
import type { Parts } from '../context.js'

/** One thing that must be well for calls to be sent here; the name tells where to look. */
export type Check = { readonly name: string; readonly ok: boolean; readonly detail: string | null }

/** Never a real message: no statement and no event begins like this. */
const PROBE = utf8('capsule-gate/readiness\n')

/** What the gate needs to judge and record, asked anew each time. */
export function checksOf(parts: Parts): readonly Check[] {
  const { journal, evidence, signer } = parts
  return [
    told('journal', journal.health()),
    told('evidence', evidence.health()),
    attempt('keys', () => {
      for (const purpose of ['statement', 'event'] as const) signer.sign(purpose, PROBE)
    }),
    attempt('policy', () => {
      if (parts.world().policy.policyIds.length === 0) throw new Error('no policy is loaded')
    }),
  ]
}

const told = (
  name: string,
  { ok, reason }: { readonly ok: boolean; readonly reason: string | null },
): Check => ({ name, ok, detail: reason })

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
