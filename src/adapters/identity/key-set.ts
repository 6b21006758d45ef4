import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWKSCacheInput,
  type JWSHeaderParameters,
  jwksCache,
} from 'jose'

/** Where the keys of an issuer are: pinned, in a file, or fetched with cache and cooldown. */
export type KeySource =
  | { readonly kind: 'static'; readonly set: JSONWebKeySet }
  /** Asked for each token; a set that is another object has taken the place of the one before. */
  | { readonly kind: 'file'; readonly read: () => JSONWebKeySet }
  | { readonly kind: 'remote'; readonly url: string }

export type KeySet = {
  /** Rejects with `JWKSNoMatchingKey` where the set has no such key. */
  readonly key: (header: JWSHeaderParameters, token?: FlattenedJWSInput) => Promise<CryptoKey>
  /** Another object after each change of the set; null: the set has to be fetched before it can be used. */
  current(): object | null
}

export function createKeySet(source: KeySource): KeySet {
  switch (source.kind) {
    case 'static':
      return { key: createLocalJWKSet(source.set), current: () => source.set }
    case 'file':
      return fileSet(source.read)
    case 'remote':
      return remoteSet(source.url)
  }
}

function fileSet(read: () => JSONWebKeySet): KeySet {
  let set = read()
  let keys = createLocalJWKSet(set)
  return {
    async key(header, token) {
      const now = read()
      if (now !== set) {
        // First the keys: a set that is none must throw each time, not leave the keys of the one before.
        keys = createLocalJWKSet(now)
        set = now
      }
      return keys(header, token)
    },
    current() {
      try {
        return read()
      } catch {
        // `key` meets the same fault and tells it.
        return null
      }
    },
  }
}

const TIMEOUT_MS = 5_000
/** jose waits after a fetch that succeeded; after one that failed it would fetch again for every token. */
const RETRY_AFTER_MS = 5_000

/** jose caches the set and waits between refetches for unknown key ids. */
function remoteSet(url: string): KeySet {
  const cache: JWKSCacheInput = {}
  let failed = Number.NEGATIVE_INFINITY
  const waiting = (): boolean => performance.now() - failed < RETRY_AFTER_MS
  const keys = createRemoteJWKSet(new URL(url), {
    cooldownDuration: 30_000,
    cacheMaxAge: 600_000,
    timeoutDuration: TIMEOUT_MS,
    [jwksCache]: cache,
    [customFetch]: async (address, options) => {
      if (waiting()) throw new Error('fetching the key set failed a moment ago')
      return fetch(address, options)
    },
  })
  return {
    async key(header, token) {
      try {
        return await keys(header, token)
      } catch (error) {
        if (!isNoSingleKey(error) && !waiting()) failed = performance.now()
        throw error
      }
    },
    current: () => (keys.fresh ? (cache.jwks ?? null) : null),
  }
}

/** The set is there and answers: it has no such key, or several. */
export const isNoSingleKey = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
