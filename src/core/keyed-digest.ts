import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { hex } from './hex.js'
import { utf8 } from './text.js'

/** HMAC-SHA-256, hex: the same text has the same digest, and without the key it cannot be guessed (seed §13). */
export const keyedDigest = (text: string, key: string): string =>
  hex(hmac(sha256, utf8(key), utf8(text)))
