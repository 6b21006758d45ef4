import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from '@jest/globals'
import { serving } from '../cli/support.js'
import {
  endsOf,
  filesIn,
  receivedIn,
  scripted,
  textOf,
  type Wrapped,
  workshop,
} from '../support/mcp/wrapped.js'

/** `wrap --gate`: a client on stdio, a gate that runs elsewhere. */
const { fresh, wrap, stopAll, remove } = workshop('mcp-to-gate-')
afterEach(stopAll)
afterAll(remove)

const TOKEN = 'a-token-of-the-bot'
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

async function withGate(
  use: (to: (token?: string) => Wrapped, place: ReturnType<typeof fresh>) => Promise<void>,
): Promise<void> {
  const place = fresh()
  const command = JSON.stringify(scripted(place.log))
  const config = filesIn(place.root, {
    config: `data_dir: ${place.data}\nagents: {bot: {token_sha256: ${sha256(TOKEN)}}}\nmcp: {scripted: {command: ${command}}}\n`,
    tools: 'any: {match: {tool: "*"}, also: {body: any}}',
    policies: '@id("bot") permit (principal == Agent::"bot", action, resource);\n',
  })
  await serving(['--config', config], place.root, async (url) => {
    const to = (token = TOKEN): Wrapped => {
      const file = join(place.root, 'token')
      writeFileSync(file, token, { mode: 0o600 })
      return wrap({ args: ['--gate', url, '--token-file', file, '--name', 'scripted'] })
    }
    await use(to, place)
  })
}

it('lists, calls and cancels through a gate that runs elsewhere', async () => {
  await withGate(async (to, { data, log }) => {
    const one = to()
    await one.initialize()
    const { result } = await one.request('tools/list')
    expect(result.tools.length).toBeGreaterThan(5)
    expect(textOf(await one.call('echo', { a: 1 }))).toBe('{"a":1}')
    const hanging = one.ask('tools/call', { name: 'hang', arguments: {} })
    await one.call('echo', { b: 1 })
    one.send({ method: 'notifications/cancelled', params: { requestId: hanging } })
    await one.call('echo', { c: 1 })
    const told = receivedIn(log).filter(({ method }) => method === 'notifications/cancelled')
    expect(told.length).toBe(1)
    expect(await one.end()).toBe(0)
    expect(one.messages.every(({ id }) => id !== hanging)).toBe(true)
    expect(endsOf(data).toSorted()).toEqual([
      'errored dispatched',
      ...Array(3).fill('executed confirmed'),
    ])
  })
}, 60_000)

it('says that a token is not known', async () => {
  await withGate(async (to, { data }) => {
    const one = to('wrong')
    const answer = await one.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    })
    expect(answer.error?.message).toMatch(/token|401|not known|credential/i)
    await one.end()
    expect(endsOf(data)).toEqual(['denied none'])
  })
}, 60_000)
