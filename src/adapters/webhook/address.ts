import { BlockList, isIP } from 'node:net'

/** Everything that is not somebody else's public host (IANA special-purpose registries). */
const SPECIAL_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // A cloud's metadata service that stands in a public range.
  ['168.63.129.16', 32],
]
/** Within 2000::/3: Teredo and its kin, documentation, 6to4, which carries an IPv4 address inside. */
const SPECIAL_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const specialV4 = new BlockList()
for (const [net, bits] of SPECIAL_V4) specialV4.addSubnet(net, bits, 'ipv4')
const specialV6 = new BlockList()
for (const [net, bits] of SPECIAL_V6) specialV6.addSubnet(net, bits, 'ipv6')
const globalV6 = new BlockList()
globalV6.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an address is a public host. IPv6 is allowed, not forbidden, by range: mapped, translated,
 * local and multicast addresses all lie outside 2000::/3.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialV4.check(address, 'ipv4')
    case 6:
      // A zone belongs to local addresses only.
      return (
        !address.includes('%') &&
        globalV6.check(address, 'ipv6') &&
        !specialV6.check(address, 'ipv6')
      )
    default:
      return false
  }
}

/** The host of a URL as a resolver or `isIP` reads it: without the brackets of IPv6. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')
