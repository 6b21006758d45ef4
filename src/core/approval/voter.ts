import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { hex } from '../hex.js'
import { utf8 } from '../text.js'

/**
 * Who voted, as the journal may say it: the same person has the same pseudonym, and nobody without
 * the tenant's salt can find the name by guessing (promise 8).
 */
export const pseudonym = (name: string, tenantSalt: string): string =>
  hex(hmac(sha256, utf8(tenantSalt), utf8(name)))
