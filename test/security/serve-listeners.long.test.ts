import { appendFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type Installation, install } from '../cli/admin-support.js'
import { cli } from '../cli/support.js'
import { type Listening, listen } from '../support/listen.js'

/** A gate that lacks one of its listeners must end, and not look healthy on the others. */
let at: Installation
let taken: Listening

beforeAll(async () => {
  at = await install()
  taken = await listen((_, response) => response.end())
  Object.assign(process.env, at.env)
  appendFileSync(at.config, `listeners: {metrics: {port: 0}}\n`)
})
afterEach(() => {
  delete process.env.GATE_LISTENERS__METRICS__PORT
})
afterAll(async () => {
  for (const name of Object.keys(at.env)) delete process.env[name]
  await taken.close()
  await at.close()
})

const serve = (...args: string[]) =>
  cli(['serve', '--config', at.config, '--port', '0', '--admin-port', '0', ...args])

/** The command has ended by itself; a gate left behind would hold the journal. */
async function nothingIsLeft(): Promise<void> {
  const again = await at.start()
  expect((await again.refund('1.00')).status).toBe(200)
  expect(await again.stop()).toBe(0)
}

describe('a listener that cannot open ends serve', () => {
  it('data: exit 1, named with its address and the way out', async () => {
    const { code, err } = await serve('--port', String(taken.port))
    expect(code).toBe(1)
    expect(err).toContain(`the data listener cannot open 127.0.0.1:${taken.port}: another process`)
    expect(err).toContain('choose another host or port under `listeners` in gate.yaml')
    expect(err).not.toContain('agents connect to')
    await nothingIsLeft()
  })

  it('admin: exit 1, named with its address and the way out', async () => {
    const { code, err } = await serve('--admin-port', String(taken.port))
    expect(code).toBe(1)
    expect(err).toContain(`the admin listener cannot open 127.0.0.1:${taken.port}: another process`)
    expect(err).toContain('choose another host or port under `listeners` in gate.yaml')
    await nothingIsLeft()
  })

  it('metrics: exit 1, named with its address and the way out', async () => {
    process.env.GATE_LISTENERS__METRICS__PORT = String(taken.port)
    const { code, err } = await serve()
    delete process.env.GATE_LISTENERS__METRICS__PORT
    expect(code).toBe(1)
    expect(err).toContain(`the metrics listener cannot open 127.0.0.1:${taken.port}`)
    expect(err).toContain('choose another host or port under `listeners` in gate.yaml')
    await nothingIsLeft()
  })

  it('an address that this machine does not have: exit 1', async () => {
    const { code, err } = await serve('--host', '192.0.2.1')
    expect(code).toBe(1)
    expect(err).toContain('the data listener cannot open 192.0.2.1:0: this machine has no such')
  })
})
