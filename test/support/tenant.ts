import { tenantKeys } from '../../src/app/tenant/keys.js'

/** Keys of a tenant that no test has the secret of elsewhere. */
export const TENANT = tenantKeys(Buffer.alloc(32, 7))
