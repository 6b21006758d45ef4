import type { Evidence } from '../../src/ports/evidence.js'
import type { CapsuleLine } from './rig.js'

/** Policy ids, policy text and thresholds of the verdict scenarios: agents see none of them (DESIGN §7). */
const PRIVATE = [
  /\bsupport\b(?!-bot)/,
  /large-refund/,
  /closed-to-others/,
  /overflow/,
  /greaterThan/,
  /context\./,
  /9223372036854775807/,
  /\b100\.0/,
  /500\.00/,
  /EUR|USD/,
  /\[a-z0-9 -\]/,
  /\bmax\b/,
]
/** What of a reason an agent may be told: the code, which constraint it was, and what it sent itself. */
const OPEN = new Set(['code', 'constraint', 'observed'])
/** Shorter values turn up in times and ids by chance. */
const TELLING = 4

/** Private words that stand in what an agent was told, and what of the reason in the evidence does. */
export async function privateIn(
  told: string,
  { capsule }: CapsuleLine,
  evidence: Pick<Evidence, 'byDigest'>,
): Promise<readonly string[]> {
  const found = PRIVATE.filter((word) => word.test(told)).map(String)
  const digest = (capsule.disposition as { reason_digest?: string }).reason_digest
  if (digest === undefined) return found
  const reason = await evidence.byDigest(digest)
  if (reason.state !== 'present') throw new Error(`the reason is ${reason.state}`)
  if (told.includes(digest)) found.push('the digest of the reason')
  const members = reason.value.value as { readonly [name: string]: unknown }
  for (const [name, value] of Object.entries(members)) {
    // Beside a threshold, what was observed is the gate's own count.
    if (OPEN.has(name) && (name !== 'observed' || members.threshold === undefined)) continue
    for (const leaf of leavesOf(value)) {
      if (leaf.length >= TELLING && told.includes(leaf)) found.push(`${name}: ${leaf}`)
    }
  }
  return found
}

function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)]
  return Object.values(value).flatMap(leavesOf)
}
