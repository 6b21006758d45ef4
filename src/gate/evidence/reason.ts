import { textDigest } from '../../core/json/build.js'
import { plainText } from '../../core/json/plain-text.js'
import type { Plain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Parts } from '../context.js'

/**
 * A reason as evidence. Its salt is made from the reason itself, under a key of its own: equal refusals of
 * one tenant have equal digests (seed §5.4), and one that is disclosed tells nothing of another.
 */
export function reasonPart(
  code: string,
  reason: { readonly [name: string]: Plain },
  { tenant, crypto }: Pick<Parts, 'tenant' | 'crypto'>,
): EvidencePart {
  const value = { ...reason, tenant_salt: tenant.reasonSalt(plainText(reason, 'normalized')) }
  const text = plainText(value, 'normalized')
  return { digest: textDigest(text, crypto), kind: 'reason', name: code, value, text }
}
