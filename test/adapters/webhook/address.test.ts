import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { bareHost, isPublicAddress } from '../../../src/adapters/webhook/address.js'
import { type Posted, post, type Resolve } from '../../../src/adapters/webhook/post.js'
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
