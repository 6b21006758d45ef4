import { createHmac, createSecretKey, hkdfSync } from 'node:crypto'
import { hex } from '../../core/bytes/hex.js'
import { memo } from '../../core/memo.js'
import { infoOf, type TenantUse } from '../../core/tenant-uses.js'
import type { TenantKeys } from '../../ports/tenant.js'
import { encryptionUnder } from './encrypt.js'
import { olderForms } from './older.js'

const KEY_BYTES = 32
/** Scopes used last: most calls count in the budgets of few agents. */
const SCOPES = 4096

/** Functions over keys that are derived here, one per use; neither the secret nor a key leaves this file. */
export function tenantKeys(secret: Uint8Array): TenantKeys {
  const keyFor = (use: TenantUse): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', secret, '', infoOf(use), KEY_BYTES))
  const hmac = (use: TenantUse) => {
    const key = createSecretKey(keyFor(use))
    return (data: string | Uint8Array): string =>
      createHmac('sha256', key).update(data).digest('hex')
  }
  const voter = hmac('voter')
  const older = olderForms(hex(secret))
  const responseKey = createSecretKey(keyFor('response-octets'))
  return {
    voter,
    isVoter: (pseudonym, name) => pseudonym === voter(name) || pseudonym === older.voter(name),
    subjectTag: hmac('subject'),
    principal: hmac('principal'),
    reasonSalt: hmac('reason'),
    callIdentity: hmac('call-identity'),
    sourceHash: hmac('source'),
    passThroughSalt: hmac('pass-through'),
    requestOctets: hmac('request-octets'),
    requestSalt: hmac('request'),
    responseOctets() {
      const digesting = createHmac('sha256', responseKey)
      return {
        update: (octets) => void digesting.update(octets),
        digest: () => digesting.digest('hex'),
      }
    },
    budgetScope: memo(SCOPES, hmac('budget-scope')),
    amounts: encryptionUnder(keyFor('amounts')),
    bounds: encryptionUnder(keyFor('bounds')),
    snapshot: encryptionUnder(keyFor('snapshot')),
    older,
  }
}
