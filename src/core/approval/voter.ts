import { keyedDigest } from '../keyed-digest.js'

/**
 * Who voted, as the journal may say it: the same person has the same pseudonym, and the name cannot be
 * found by guessing without the tenant's salt (promise 8).
 */
export const pseudonym = (name: string, tenantSalt: string): string => keyedDigest(name, tenantSalt)
