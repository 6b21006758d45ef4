import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Beyond it lie mapped, translated, local, multicast and IPv4-compatible addresses. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')
/** A cloud's metadata service that stands in a public range. */
const METADATA = '168.63.129.16'

/**
 * Whether an address is a public host: in none of the special-purpose ranges that ipaddr.js knows (IANA's
 * registries), and for IPv6 within the one range from which public addresses are given.
 */
export function isPublicAddress(address: string): boolean {
  // `isIP` first: ipaddr.js also reads octal and shortened forms. A zone belongs to local addresses only.
  if (isIP(address) === 0 || address.includes('%') || address === METADATA) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv6 ? parsed.match(GLOBAL_V6) : true
}

/** The host of a URL as a resolver or `isIP` reads it: without the brackets of IPv6. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')
