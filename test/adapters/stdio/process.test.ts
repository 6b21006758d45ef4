import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { HEAD, isAlive, isGone, messageOf, noneOf, open, text } from './harness.js'

describe('a process that cannot be started', () => {
  it.each([
    ['is not there', { command: '/nowhere/at/all' }, 'start_failed:ENOENT'],
    ['is no program', { command: import.meta.filename }, 'start_failed:EACCES'],
    ['has no folder', { cwd: '/nowhere/at/all' }, 'start_failed:ENOENT'],
    ['has an argument that cannot be', { args: ['a\0b'] }, 'start_failed:ERR_INVALID_ARG_VALUE'],
    ['has too many arguments', { args: ['x'.repeat(1 << 22)] }, 'start_failed:E2BIG'],
  ])('%s', async (_, over, why) => {
    const { ask, closed, reports, connection, closes } = open('echo', over)
    connection.tell(Buffer.from('{}'), HEAD)
    expect(noneOf(await ask(1))).toEqual({
      kind: 'not_sent',
      cause: 'start_failed',
      deadline: false,
    })
    expect((await closed).why).toBe(why)
    expect(reports).toMatchObject([{ level: 'error', event: 'mcp_start_failed' }])
    connection.kill('SIGTERM')
    await connection.close()
    expect(closes()).toBe(1)
  })
})

describe('a process', () => {
  it('has the environment and folder it is given, and nothing else of the gate', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gate-stdio-')))
    const { ask } = open('environment', { env: { ONLY: 'this' }, cwd: folder })
    const { result } = JSON.parse(text(messageOf(await ask(1)).octets))
    expect(result).toEqual({ env: { ONLY: 'this' }, cwd: folder })
  })

  it('that exits at once is told with its code', async () => {
    const { closed, ask } = open('exits at once')
    expect(await closed).toEqual({ why: 'exited', code: 7, signal: null })
    expect(noneOf(await ask(1))).toMatchObject({ kind: 'not_sent' })
  })

  it('gets signals', async () => {
    const { connection, messages, until } = open('signals')
    await until(() => messages.length === 1)
    connection.kill('SIGUSR2')
    await until(() => messages.length === 2)
    connection.kill('SIGHUP')
    await until(() => messages.length === 3)
    expect(messages.slice(1).map((message) => JSON.parse(message).params.got)).toEqual([
      'SIGUSR2',
      'SIGHUP',
    ])
  })
})

describe('closing', () => {
  it('closes stdin, and a process that ends by itself is not killed', async () => {
    const { connection, closed, ask } = open('echo')
    messageOf(await ask(1))
    await connection.close()
    expect(await closed).toEqual({ why: 'closed', code: 0, signal: null })
    expect(noneOf(await ask(2))).toMatchObject({ kind: 'not_sent', cause: 'closed' })
  })

  it('ends what is under way as sent, at once', async () => {
    const { connection, messages, ask, until } = open('silent')
    const asked = ask(1)
    await until(() => messages.length === 1)
    const closed = connection.close()
    expect(noneOf(await asked)).toMatchObject({ kind: 'sent', cause: 'closed' })
    await closed
  })

  it('asks a process that stays, and then ends it', async () => {
    const { connection, closed, messages, until, closes } = open('stubborn')
    await until(() => messages.length === 1)
    await Promise.all([connection.close(), connection.close()])
    expect(JSON.parse(messages[1] ?? '').params.got).toBe('SIGTERM')
    expect(await closed).toMatchObject({ why: 'closed', code: null, signal: 'SIGKILL' })
    expect(closes()).toBe(1)
  })

  it('of the server closes every connection, and no new one is opened', async () => {
    const { server, connection, ask, closed } = open('echo')
    messageOf(await ask(1))
    await server.close()
    expect(await closed).toMatchObject({ why: 'closed', code: 0 })
    const ended = new Promise((resolve) =>
      server.connect({ message() {}, fault() {}, closed: resolve }),
    )
    expect(await ended).toEqual({ why: 'server_closed' })
    await connection.close()
  })

  it.each([['shares its output'], ['quiet']])(
    'leaves nothing that the process started: one that %s',
    async (how) => {
      const { ask, closed, messages, until } = open('has a child', {}, how)
      await until(() => messages.length === 1)
      const { pid } = JSON.parse(messages[0] ?? '').params
      expect(isAlive(pid)).toBe(true)
      expect(noneOf(await ask(1))).toMatchObject({ kind: 'sent', cause: 'child_gone' })
      expect(await closed).toMatchObject({ why: 'exited', code: 0 })
      expect(await isGone(pid)).toBe(true)
    },
  )
})

describe('stderr', () => {
  it('is passed on', async () => {
    const { stderr, until } = open('nonsense')
    await until(() => stderr().includes('MODES[mode] is not a function'))
  })

  it('in a flood is cut, said so, and holds up neither side', async () => {
    const { ask, stderr, connection } = open('stderr flood')
    messageOf(await ask(1, '{"times":100}'))
    await connection.close()
    expect(stderr().length).toBeLessThan(2 << 20)
    const dropped = Array.from(stderr().matchAll(/… (\d+) bytes of stderr dropped/g), ([, n]) =>
      Number(n),
    )
    const passed = stderr().replace(/\n… \d+ bytes of stderr dropped\n/g, '').length
    expect(passed + dropped.reduce((sum, n) => sum + n, 0)).toBe(100 << 16)
  })
})

it('a gate that is killed leaves no process behind', async () => {
  const gate = spawn(
    process.execPath,
    [join(import.meta.dirname, 'gate-child.mjs'), join(import.meta.dirname, 'server.mjs')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [said] = await once(gate.stdout, 'data')
  const pid = Number(String(said))
  expect(isAlive(pid)).toBe(true)
  gate.kill('SIGKILL')
  expect(await isGone(pid)).toBe(true)
})
