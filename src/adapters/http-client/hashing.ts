import { createHash } from 'node:crypto'
import type { OctetsHashing } from '../../core/http/response-body.js'
import { nodeCrypto } from '../crypto-node.js'

export const nodeHashing: OctetsHashing = {
  ...nodeCrypto,
  beginSha256() {
    const sha256 = createHash('sha256')
    return { update: (octets) => void sha256.update(octets), digest: () => sha256.digest('hex') }
  },
}
