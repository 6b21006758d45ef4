import { createHash } from 'node:crypto'

/** Longer than any proof is accepted: from 60 s before its `iat` to 60 s after it. */
const KEPT_MS = 120_000
/** 2,000 proofs in a second, for two minutes. Further ones are refused: forgetting one would let it pass twice. */
const MOST = 262_144
/** One key's share of them, so that one agent cannot use up the room of all. */
const MOST_OF_ONE = 32_768

export type Spent = 'first' | 'replayed' | 'no_room'
type Generation = { readonly ids: Set<string>; readonly of: Map<string, number> }

/** The proofs that were accepted, each once (RFC 9449 §11.1): two generations, of which the older is dropped. */
export function createSpentProofs(): (key: string, jti: string, now: number) => Spent {
  let [newer, older] = [generation(), generation()]
  let since = Number.NEGATIVE_INFINITY
  return (key, jti, now) => {
    const age = now - since
    if (age >= KEPT_MS) {
      older = age >= 2 * KEPT_MS ? generation() : newer
      newer = generation()
      since = now
    }
    const id = createHash('sha256').update(`${key}.${jti}`).digest('base64url')
    if (newer.ids.has(id) || older.ids.has(id)) return 'replayed'
    const own = newer.of.get(key) ?? 0
    if (newer.ids.size >= MOST || own >= MOST_OF_ONE) return 'no_room'
    newer.ids.add(id)
    newer.of.set(key, own + 1)
    return 'first'
  }
}

const generation = (): Generation => ({ ids: new Set(), of: new Map() })
