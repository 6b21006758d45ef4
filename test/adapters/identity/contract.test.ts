import { createIdentity } from '../../../src/adapters/identity/identity.js'
import { hashToken } from '../../../src/adapters/identity/tokens.js'
import { identityContract } from '../../contract/identity.js'

const caller = { bearer: null, certificate: null, asserted: null, source: '127.0.0.1' }
const agent = (name: string) => ({ agent: name, roles: ['r'], developer: `${name}/1` })

identityContract('tokens', async () => {
  const tokens = new Map([
    [hashToken('first'), agent('a')],
    [hashToken('second'), agent('b')],
  ])
  return {
    identity: createIdentity({
      tokens: () => tokens,
      issuers: [],
      certificates: new Map(),
      anonymous: false,
    }),
    callers: [
      { ...caller, bearer: 'first' },
      { ...caller, bearer: 'second' },
    ],
    revoke: () => tokens.delete(hashToken('first')),
  }
})

identityContract('certificates', async () => {
  const certificates = new Map([
    ['CN=a', agent('a')],
    ['CN=b', agent('b')],
  ])
  return {
    identity: createIdentity({
      tokens: () => new Map(),
      issuers: [],
      certificates,
      anonymous: false,
    }),
    callers: [
      { ...caller, certificate: 'CN=a' },
      { ...caller, certificate: 'CN=b' },
    ],
    revoke: () => certificates.delete('CN=a'),
  }
})
