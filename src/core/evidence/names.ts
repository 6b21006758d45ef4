import type { Hashing } from '../crypto/crypto.js'
import { textDigest } from '../json/build.js'

/** So much of a name distinguishes records: the first octets of a digest, or of the SHA-256 of an action's id. */
export const NAME_BYTES = 8

/**
 * One digest for the names of all records encrypted under a key, which its erasure made unreadable. Once the key is gone
 * nothing else shows whether a record was under it before, or was put there to look erased. `names` are hex.
 */
export const namesDigest = (names: Iterable<string>, crypto: Hashing): string =>
  textDigest([...new Set(names)].sort().join('\n'), crypto)
