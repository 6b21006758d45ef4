import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createKeys } from '../../src/adapters/keys/create.js'
import { rotateKeys } from '../../src/adapters/keys/rotate.js'
import {
  type Bench,
  bench,
  denied,
  endpoint,
  type Receiver,
  receiver,
} from '../adapters/webhook/harness.js'
import { cli } from './support.js'

describe('webhooks', () => {
  let at: Bench
  let hook: Receiver
  let data: string
  beforeEach(async () => {
    at = bench()
    hook = await receiver()
    data = at.folder
  })
  afterEach(async () => {
    await at.close()
    await hook.close()
  })
  const start = () => at.outbox({ folder: join(data, 'webhooks'), endpoints: [endpoint(hook.url)] })

  it('shows a disabled endpoint and its dead letters, enables and replays while the gate runs', async () => {
    await start()
    hook.answer = () => ({ status: 410 })
    at.journal.append('CAPSULE', denied('x-1'))
    await at.heard('dead')

    const ls = await cli(['webhooks', 'ls', '--data', data])
    expect(ls).toMatchObject({ code: 0, err: '' })
    expect(ls.out).toMatch(/^chat +disabled 2026-03-01T12:00:00\.000Z +0 +- +1 /m)
    const dead = await cli(['webhooks', 'dead', '--data', data, '--json'])
    const [letter] = JSON.parse(dead.out).dead
    expect(letter).toMatchObject({
      endpoint: 'chat',
      type: 'verdict.denied',
      why: 'endpoint disabled',
    })

    hook.answer = () => ({ status: 200 })
    expect((await cli(['webhooks', 'enable', 'chat', '--data', data])).code).toBe(0)
    at.time.advance(5)
    await at.heard('enabled')
    expect((await cli(['webhooks', 'replay', letter.id, '--data', data])).code).toBe(0)
    at.time.advance(5)
    await at.heard('delivered')
    expect(hook.got.at(-1)?.id).toBe(letter.id)
    expect((await cli(['webhooks', 'dead', '--data', data])).out).toBe('No dead letters.\n')
  })

  it('leaves an order for a gate that does not run yet', async () => {
    const first = await start()
    hook.answer = () => ({ status: 410 })
    at.journal.append('CAPSULE', denied('x-1'))
    await at.heard('dead')
    await first.close()
    hook.answer = () => ({ status: 200 })
    await cli(['webhooks', 'enable', 'chat', '--data', data])
    await start()
    await at.heard('enabled')
    await cli(['webhooks', 'replay', '--endpoint', 'chat', '--data', data])
    at.time.advance(5)
    await at.heard('delivered')
  })

  it.each([
    [['ls', '--data', '/nonexistent']],
    [['replay']],
    [['replay', 'msg_1', '--endpoint', 'chat']],
    [['replay', 'msg_none']],
    [['enable', 'nobody']],
  ])('%j is a mistake, exit 2', async (args) => {
    await start()
    const given = args.includes('--data') ? args : [...args, '--data', data]
    const { code, err } = await cli(['webhooks', ...given])
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^capsule-gate: /) })
  })
})

it('keys export --webhook prints whpk_ keys of every epoch, the active one first', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gate-whpk-'))
  try {
    await createKeys(dir)
    const { active, retired } = await rotateKeys(dir, 'webhook')
    const spelled = (hex: string): string => `whpk_${Buffer.from(hex, 'hex').toString('base64')}`
    const { code, out } = await cli(['keys', 'export', '--webhook', '--dir', dir])
    expect(code).toBe(0)
    expect(out).toBe(
      `${spelled(active.public_key)}  active\n${spelled(retired.public_key)}  retired\n`,
    )
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
