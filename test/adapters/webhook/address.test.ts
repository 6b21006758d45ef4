import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import {
  bareHost,
  isPublicAddress,
  type Posted,
  post,
  type Resolve,
} from '../../../src/adapters/webhook/post.js'
import { fakeTime } from '../../support/approvals.js'

const host = (url: string): string => bareHost(new URL(url))

describe('an address', () => {
  it.each([
    // Loopback in all the ways a URL may spell it.
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://017700000001/',
    'http://127.1/',
    'http://0/',
    'http://①②⑦.0.0.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[0:0:0:0:0:ffff:10.0.0.1]/',
    'http://[::127.0.0.1]/',
    // An IPv4 address inside IPv6: NAT64, 6to4, Teredo.
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b:1::a00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001:0:a00:1::]/',
    // Private, shared, link-local, metadata.
    'http://10.1.2.3/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://100.100.100.200/',
    'http://169.254.169.254/',
    'http://168.63.129.16/',
    'http://192.0.0.192/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[2001:db8::1]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://198.18.0.1/',
  ])('%s is no public host', (url) => {
    expect(isPublicAddress(host(url))).toBe(false)
  })

  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
    '%s is one',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  it('that is mapped into IPv6 is never taken for a public one, whatever it maps', () => {
    fc.assert(
      fc.property(fc.ipV4(), (v4) => {
        expect(isPublicAddress(host(`http://[::ffff:${v4}]/`))).toBe(false)
        expect(isPublicAddress(`::ffff:${v4}`)).toBe(false)
      }),
    )
  })

  it('of a special-purpose range is never public, whichever it is', () => {
    // IANA's registries, RFC by RFC, apart from what the code goes by; the last is a cloud's metadata.
    const ranges = [
      '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24',
      '192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24',
      '224.0.0.0/4 240.0.0.0/4 168.63.129.16/32 ::/8 64:ff9b::/96 64:ff9b:1::/48 100::/64',
      '2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8',
    ].flatMap((line) => line.split(' '))
    const bits = (address: string): bigint =>
      BigInt(`0x${Buffer.from(ipaddr.parse(address).toByteArray()).toString('hex')}`)
    const text = (value: bigint, width: number): string => {
      const octets = Buffer.from(value.toString(16).padStart(width / 4, '0'), 'hex')
      return ipaddr.fromByteArray([...octets]).toString()
    }
    fc.assert(
      fc.property(fc.constantFrom(...ranges), fc.bigInt(0n, 2n ** 128n - 1n), (range, random) => {
        const [net = '', length = ''] = range.split('/')
        const width = net.includes(':') ? 128 : 32
        const inside = random % 2n ** BigInt(width - Number(length))
        for (const offset of [inside, 0n, 2n ** BigInt(width - Number(length)) - 1n]) {
          expect(isPublicAddress(text(bits(net) + offset, width))).toBe(false)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('of IPv6 outside 2000::/3 is never public', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const first = ipaddr.IPv6.parse(address).parts[0] ?? 0
        if (first >> 13 !== 1) expect(isPublicAddress(address)).toBe(false)
      }),
    )
  })

  it('that is none, or has a zone, is refused', () => {
    for (const text of ['', 'localhost', '127.0.0.1.', 'fe80::1%eth0', '2606::1%1', '1.2.3']) {
      expect(isPublicAddress(text)).toBe(false)
    }
  })
})

describe('an attempt', () => {
  const { timer } = fakeTime()
  const attempt = (url: string, resolve: Resolve, allowPrivate: boolean): Promise<Posted> =>
    post(
      { url, headers: {}, body: '{}', allowPrivate, signal: new AbortController().signal },
      { resolve, timer },
    )
  const never: Resolve = () => {
    throw new Error('nobody is to be asked')
  }
  const answering =
    (...addresses: string[]): Resolve =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

  it('at plain http is refused unless private is allowed', async () => {
    expect(await attempt('http://hooks.test/', never, false)).toEqual({
      kind: 'failed',
      why: 'plain http is not allowed',
    })
  })

  it.each([[['127.0.0.1']], [['8.8.8.8', '10.0.0.1']], [['::ffff:169.254.169.254']], [['::1']]])(
    'at a name that resolves to %j is refused without a connection',
    async (addresses) => {
      expect(await attempt('https://hooks.test/', answering(...addresses), false)).toEqual({
        kind: 'failed',
        why: 'address not public',
      })
    },
  )

  it('at a literal private address is refused without a look-up', async () => {
    expect(await attempt('https://2130706433/', never, false)).toMatchObject({
      why: 'address not public',
    })
  })

  it('at a name without address, or that cannot be resolved, has failed', async () => {
    expect(await attempt('https://hooks.test/', answering(), false)).toMatchObject({
      why: 'dns no address',
    })
    const broken: Resolve = async () => {
      throw Object.assign(new Error('no'), { code: 'ENOTFOUND' })
    }
    expect(await attempt('https://hooks.test/', broken, false)).toMatchObject({
      why: 'dns ENOTFOUND',
    })
  })

  it('asks the resolver once and connects to the answer it checked, under the name', async () => {
    const hosts: (string | undefined)[] = []
    const server = createServer((request, response) => {
      hosts.push(request.headers.host)
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    let asked = 0
    // A name that answers differently the second time: nobody asks a second time.
    const rebinding: Resolve = async () => {
      asked += 1
      return [{ address: asked === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }]
    }
    expect(await attempt(`http://hooks.test:${port}/`, rebinding, true)).toMatchObject({
      kind: 'answered',
      status: 200,
    })
    expect(asked).toBe(1)
    expect(hosts).toEqual([`hooks.test:${port}`])
    await new Promise((resolve) => server.close(resolve))
  })

  it('that is called off before it began says so', async () => {
    const signal = AbortSignal.abort()
    const order = { url: 'https://hooks.test/', headers: {}, body: '', allowPrivate: false, signal }
    expect(await post(order, { resolve: answering('8.8.8.8'), timer })).toEqual({ kind: 'stopped' })
  })
})
