import { parse } from '../json/parse.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { parseKeyring } from '../statement/keys.js'
import type { Input } from './canonical.js'
import { type CpsKey, keyFault } from './keys.js'

export type CpsKeysRead =
  | {
      readonly ok: true
      readonly keys: readonly CpsKey[]
      /** The one that signs now; null: the file does not say. */
      readonly active: CpsKey | null
    }
  | { readonly ok: false; readonly path: string; readonly detail: string }
type Named = { readonly path: string; readonly key: CpsKey; readonly active: boolean }

/**
 * Public keys of capsules, in the forms they are found in: a gate's keyring, of which those of the purpose `cps` count;
 * a keyring with epochs (CPS, key management); or fingerprints with their keys, as a bundle has them (Anatomy). Wholly
 * valid or refused.
 */
export function readCpsKeys(input: Input): CpsKeysRead {
  const parsed = parse(input, { maxDepth: 8 })
  if (!parsed.ok) return { ok: false, path: '$', detail: `is not strict JSON: ${parsed.code}` }
  if (isObject(parsed.value) && isArray(parsed.value.get('keys'))) return ofGate(input)
  const named = isObject(parsed.value) ? namedIn(parsed.value) : null
  if (named === null) return { ok: false, path: '$', detail: 'is no keyring of a known form' }
  const found: CpsKey[] = []
  let active: CpsKey | null = null
  for (const { path, key, active: isActive } of named) {
    const fault = keyFault(key)
    if (fault !== null) return { ok: false, path, detail: fault }
    if (isActive) active = key
    found.push(key)
  }
  return { ok: true, keys: found, active }
}

/** Of a gate's keyring: whole or refused, so that one that is misspelt is not taken for one without such keys. */
function ofGate(input: Input): CpsKeysRead {
  const ring = parseKeyring(input)
  if (!ring.ok) return ring
  const own = ring.keys.filter(({ purpose }) => purpose === 'cps')
  const active = own.find(({ status }) => status === 'active')
  return {
    ok: true,
    keys: own.map(({ public_key: publicKey }) => ({ publicKey })),
    active: active === undefined ? null : { publicKey: active.public_key },
  }
}

function namedIn(root: JsonObject): readonly Named[] | null {
  const [keys, epochs] = [root.get('keys'), root.get('epochs')]
  if (isArray(epochs)) {
    return epochs.map((epoch, index) => {
      const of = isObject(epoch) ? epoch : NONE
      const path = `$.epochs[${index}]`
      return named(path, of.get('public_key_hex'), of.get('status') === 'active')
    })
  }
  const map = isObject(keys) ? keys : root
  const isMap = map.size > 0 && [...map].every(([name]) => /^[0-9a-f]{16}$/.test(name))
  if (!isMap) return null
  return [...map].map(([name, value]) => {
    // Its name is the beginning of the key, or it is another key than it says.
    const isOwn = typeof value === 'string' && value.startsWith(name)
    return named(`$.${name}`, isOwn ? value : '', false)
  })
}

const NONE: JsonObject = new Map()
const named = (path: string, publicKey: JsonValue | undefined, active: boolean): Named => ({
  path,
  key: { publicKey: typeof publicKey === 'string' ? publicKey : '' },
  active,
})
