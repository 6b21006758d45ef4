import { anyText, either, list, type Of, oneOf, only, optional, record } from '../json/shape.js'

const token = record({ kind: only('token'), sha256: anyText })
const certificate = record({ kind: only('certificate'), subject: anyText })
/** A JWT that says who calls, or a mandate that says for what as well. */
const issued = record({ kind: oneOf('jwt', 'mandate'), issuer: anyText })
/** `asserted`: the embedding application vouches for it. */
const named = record({ kind: oneOf('asserted', 'anonymous') })
/** How a caller was identified. */
const credential = either(
  ({ kind }) => kind === 'token',
  token,
  either(
    ({ kind }) => kind === 'certificate',
    certificate,
    either(({ kind }) => kind === 'jwt' || kind === 'mandate', issued, named),
  ),
)
export type Credential = Of<typeof credential>

/** A caller that was identified. */
export const agent = record({
  kind: only('known'),
  agent: anyText,
  roles: list(anyText),
  /** The agent identity and version that capsules name. */
  developer: anyText,
  /**
   * Every credential that was shown and counted. Absent from a frozen call whose credential the
   * agent may have changed since: such an agent is looked up by its name.
   */
  by: optional(list(credential)),
  /** The mandate that identified it: what it lets its agent do ends with it, whatever the tool asks for. */
  mandate: optional(record({ id: anyText, issuer: anyText, expiresAt: anyText })),
})
export type Agent = Of<typeof agent>

/**
 * The agent as a frozen call keeps it. Tokens and certificates may be renewed before the call is sent:
 * it must then still be named by one, not by the same one.
 */
export function frozenAgent({ by, ...agent }: Agent): Agent {
  const renewable = by?.some(({ kind }) => kind === 'token' || kind === 'certificate') ?? true
  return by === undefined || renewable ? agent : { ...agent, by }
}
