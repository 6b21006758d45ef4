import type { Hashing } from '../crypto/crypto.js'
import { textDigest } from '../json/build.js'

/** A record's name is the first octets of a digest it holds, or of the SHA-256 of its action's id. */
export const NAME_BYTES = 8

/**
 * One digest for the names (hex) of all records that are encrypted under a key, recorded when the key is erased:
 * without the key nothing else shows whether a record was under it before, or was put there to look erased.
 */
export const namesDigest = (names: Iterable<string>, crypto: Hashing): string =>
  textDigest([...new Set(names)].sort().join('\n'), crypto)
