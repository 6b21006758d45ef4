import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Resolve } from '../../src/adapters/webhook/post.js'
import { startWebhooks } from '../../src/app/webhooks.js'
import { receiver } from '../adapters/webhook/harness.js'
import { fakeTime } from '../support/approvals.js'
import { PAYMENTS } from '../support/manifests.js'
import { type Rig, refund, rig } from '../support/rig.js'

/**
 * A webhook whose name is turned against the network behind the gate, from one attempt to the next.
 * Single addresses and spellings are in test/adapters/webhook/address.test.ts.
 */
let at: Rig
let canary: Server
let touched = 0
const time = fakeTime()
beforeEach(async () => {
  touched = 0
  at = await rig({ manifest: PAYMENTS, clock: time.clock, timer: time.timer })
  canary = createServer((socket) => {
    touched += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await at.close()
  await new Promise((resolve) => canary.close(resolve))
})
const port = (): number => (canary.address() as { port: number }).port

type Sent = { readonly asked: string[]; readonly whys: string[]; close(): Promise<void> }
/** One event, attempted as often as there are answers of the resolver. */
async function attempts(
  url: string,
  answers: readonly (readonly string[])[],
  allowPrivate = false,
): Promise<Sent> {
  const asked: string[] = []
  const whys: string[] = []
  let heard = (): void => undefined
  const resolve: Resolve = async (host) => {
    const answer = answers[asked.length] ?? []
    asked.push(host)
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  const webhooks = await startWebhooks(
    at.gate,
    {
      data_dir: join(at.dir, 'data'),
      webhooks: {
        chat: { url, events: ['verdict.denied'], secret: null, allow_private: allowPrivate },
      },
    },
    {
      adminUrl: null,
      timer: time.timer,
      random: () => 0.5,
      resolve,
      report: ({ event, detail = '' }) => {
        if (event !== 'webhook_retry' && event !== 'webhook_dead') return
        whys.push(detail)
        heard()
      },
    },
  )
  const told = (count: number): Promise<void> =>
    new Promise((done) => {
      heard = () => {
        if (whys.length >= count) done()
      }
      heard()
    })
  await at.gate.govern(refund('5', { target: '/none' }), () => Promise.reject(new Error('sent')))
  for (let i = 1; i <= answers.length; i++) {
    await told(i)
    time.advance(24 * 3600)
  }
  return { asked, whys, close: () => webhooks.close() }
}

describe('a webhook to a public name', () => {
  it('that resolves elsewhere at each attempt never reaches an address behind the gate', async () => {
    const answers = [
      ['127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['::ffff:127.0.0.1'],
      ['::ffff:7f00:1'],
      ['64:ff9b::7f00:1'],
      ['64:ff9b:1::7f00:1'],
      ['2002:7f00:1::'],
      ['169.254.169.254'],
      ['0.0.0.0'],
    ]
    const sent = await attempts(`https://hooks.test:${port()}/`, answers)
    expect(sent.asked).toEqual(answers.map(() => 'hooks.test'))
    expect(sent.whys.every((why) => why.includes('address not public'))).toBe(true)
    expect(sent.whys).toHaveLength(answers.length)
    expect(touched).toBe(0)
    await sent.close()
  })

  it.each(['2130706433', '017700000001', '0x7f.1', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '0'])(
    'spelt %s is refused without a look-up',
    async (host) => {
      const sent = await attempts(`https://${host}:${port()}/`, [[]])
      expect(sent.asked).toEqual([])
      expect(sent.whys[0]).toContain('address not public')
      expect(touched).toBe(0)
      await sent.close()
    },
  )
})

describe('a receiver that is allowed', () => {
  it.each([301, 302, 303, 307, 308])(
    'answering %d to an address behind the gate is not followed',
    async (status) => {
      const hook = await receiver()
      hook.answer = () => ({ status, headers: { location: `http://127.0.0.1:${port()}/` } })
      const sent = await attempts(hook.url, [['127.0.0.1']], true)
      expect(sent.whys[0]).toContain(String(status))
      expect(touched).toBe(0)
      await sent.close()
      await hook.close()
    },
  )
})
