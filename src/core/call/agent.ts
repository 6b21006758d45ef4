import { isArray, isObject, type JsonValue } from '../json/value.js'

/** A caller that was identified. */
export type Agent = {
  readonly kind: 'known'
  readonly agent: string
  readonly roles: readonly string[]
  /** The agent identity and version that capsules name. */
  readonly developer: string
  /**
   * Every credential that was shown and counted. Absent from a frozen call whose credential the
   * agent may have changed since: such an agent is looked up by its name.
   */
  readonly by?: readonly Credential[]
}

/** How a caller was identified. */
export type Credential =
  | { readonly kind: 'token'; readonly sha256: string }
  | { readonly kind: 'certificate'; readonly subject: string }
  | { readonly kind: 'jwt'; readonly issuer: string }
  /** The embedding application vouches for it. */
  | { readonly kind: 'asserted' }
  | { readonly kind: 'anonymous' }

/**
 * The agent as a frozen call keeps it. Tokens and certificates may be renewed before the call is sent:
 * it must then still be named by one, not by the same one.
 */
export function frozenAgent({ by, ...agent }: Agent): Agent {
  const renewable = by?.some(({ kind }) => kind === 'token' || kind === 'certificate') ?? true
  return by === undefined || renewable ? agent : { ...agent, by }
}

/** The agent of a frozen call; null where anything in it is not what `frozenAgent` writes. */
export function readAgent(value: JsonValue | undefined): Agent | null {
  if (!isObject(value) || value.get('kind') !== 'known') return null
  const [agent, developer] = [value.get('agent'), value.get('developer')]
  const roles = listOf(value.get('roles'), (role) => (typeof role === 'string' ? role : null))
  if (typeof agent !== 'string' || typeof developer !== 'string' || roles === null) return null
  const known = { kind: 'known', agent, roles, developer } as const
  if (!value.has('by')) return known
  const by = listOf(value.get('by'), readCredential)
  return by === null ? null : { ...known, by }
}

function readCredential(value: JsonValue): Credential | null {
  if (!isObject(value)) return null
  const text = (name: string): string | null => {
    const member = value.get(name)
    return typeof member === 'string' ? member : null
  }
  const kind = value.get('kind')
  switch (kind) {
    case 'token': {
      const sha256 = text('sha256')
      return sha256 === null ? null : { kind, sha256 }
    }
    case 'certificate': {
      const subject = text('subject')
      return subject === null ? null : { kind, subject }
    }
    case 'jwt': {
      const issuer = text('issuer')
      return issuer === null ? null : { kind, issuer }
    }
    case 'asserted':
    case 'anonymous':
      return { kind }
    default:
      return null
  }
}

/** All of a list, or null where one of it cannot be read. */
export function listOf<T>(
  value: JsonValue | undefined,
  read: (element: JsonValue) => T | null,
): readonly T[] | null {
  if (!isArray(value)) return null
  const out: T[] = []
  for (const element of value) {
    const item = read(element)
    if (item === null) return null
    out.push(item)
  }
  return out
}
