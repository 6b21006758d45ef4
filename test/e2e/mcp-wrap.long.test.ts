import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from '@jest/globals'
import { cli } from '../cli/support.js'
import {
  capsulesOf,
  endsOf,
  eventually,
  filesIn,
  hasReached,
  scripted,
  textOf,
  verified,
  workshop,
} from '../support/mcp/wrapped.js'

/** `wrap` as a client starts it: a command in a process of its own, pipes, signals, an exit code. */
const { fresh, wrap, stopAll, remove } = workshop('mcp-wrap-')
afterEach(stopAll)
afterAll(remove)

it.each([0, 3])('gives back exit code %d of a command that ends by itself', async (code) => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log, 'exits', String(code)) })
  expect(await one.exited).toEqual({ code, signal: null })
  expect(one.lines).toEqual([])
})

it('gives back the exit code of a command that ends in a call, and records the call', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log) })
  await one.initialize()
  const answer = await one.call('exit', { code: 5 })
  expect(answer.result).toMatchObject({ isError: true })
  expect(await one.exited).toEqual({ code: 5, signal: null })
  expect(endsOf(data)).toEqual(['errored dispatched'])
  expect(verified(data)).toEqual({ status: 'valid', bad: [] })
})

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
] as const)('hands %s on, and tells that it ended the command', async (signal, code) => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log) })
  await one.initialize()
  one.signal(signal)
  expect(await one.exited).toEqual({ code, signal: null })
})

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'tells that %s ended the command, whoever sent it',
  async (signal) => {
    const { data, log } = fresh()
    const one = wrap({ data, command: scripted(log) })
    await one.initialize()
    one.ask('tools/call', { name: 'die', arguments: { signal } })
    expect(await one.exited).toEqual({ code: signal === 'SIGTERM' ? 143 : 137, signal: null })
  },
)

it('says that a command cannot be started, and ends with 127', async () => {
  const { data } = fresh()
  const one = wrap({ data, command: ['no-such-command-anywhere'] })
  expect(await one.exited).toEqual({ code: 127, signal: null })
  expect(one.stderr).toMatch(/^capsule-gate: .*no-such-command-anywhere cannot be started.*ENOENT/m)
  expect(one.lines).toEqual([])
})

it('ends the command when the client closes its end, with its code and everything on record', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log), env: { EXIT_CODE: '4' } })
  await one.initialize()
  await one.call('echo', { n: 1 })
  const last = one.ask('tools/call', { name: 'wait', arguments: { ms: 200 } })
  expect(await one.end()).toBe(4)
  expect(textOf(await one.answer(last))).toBe('waited')
  expect(endsOf(data)).toEqual(['executed confirmed', 'executed confirmed'])
  expect(verified(data)).toEqual({ status: 'valid', bad: [] })
})

it('ends within a second of SIGTERM, whatever the command does', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log, 'ignores SIGTERM', 'ignores EOF') })
  await one.initialize()
  one.ask('tools/call', { name: 'hang' })
  await eventually(() => hasReached(log, 'hang'))
  const since = performance.now()
  one.signal('SIGTERM')
  expect(await one.exited).toEqual({ code: 137, signal: null })
  expect(performance.now() - since).toBeLessThan(1_000)
  expect(one.stderr).toContain('SIGTERM ignored')
  expect(endsOf(data)).toEqual(['errored dispatched'])
})
it('lets nothing through that is no message', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log, 'prints garbage') })
  await one.initialize()
  expect(textOf(await one.call('garbage'))).toBe('behind garbage')
  one.write('this is no message either')
  one.write('[]')
  await one.call('echo')
  expect(await one.end()).toBe(0)
  expect(one.messages.map(({ id }) => id).filter((id) => id !== undefined)).toEqual([1, 2, 3])
  expect(one.messages.filter(({ id }) => id === undefined)).toMatchObject([
    { error: { code: -32700 } },
    { error: { code: -32600 } },
  ])
  for (const line of one.lines) expect(JSON.parse(line).jsonrpc).toBe('2.0')
})

it('loses nothing of a long answer to a client that closes first and reads late', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log) })
  await one.initialize()
  one.child.stdout?.pause()
  const id = one.ask('tools/call', { name: 'big', arguments: { size: 3_000_000 } })
  one.child.stdin?.end()
  await eventually(() => capsulesOf(data).length > 0)
  one.child.stdout?.resume()
  expect(textOf(await one.answer(id)).length).toBe(3_000_000)
  expect((await one.exited).code).toBe(0)
})
it('observes a call to its end whose client is gone', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log) })
  await one.initialize()
  one.ask('tools/call', { name: 'wait', arguments: { ms: 400 } })
  await eventually(() => hasReached(log, 'wait'))
  for (const end of [one.child.stdin, one.child.stdout, one.child.stderr]) end?.destroy()
  await one.exited
  expect(endsOf(data)).toEqual(['executed confirmed'])
  expect(verified(data)).toEqual({ status: 'valid', bad: [] })
})

const CONFIG = `credential: {header: Authorization, env: SECRET_OF_UPSTREAM}
upstream: https://payments.internal
webhooks: {ops: {url: "https://hooks.internal/x", secret_env: SECRET_OF_HOOK, events: [verdict.denied]}}
mcp:
  other: {url: "https://mcp.internal/mcp", credential: {header: Authorization, env: SECRET_OF_SERVER}}
`
it("keeps the gate's secrets from the command, and nothing else", async () => {
  const { data, log, root } = fresh()
  const secrets = {
    SECRET_OF_UPSTREAM: 's1',
    SECRET_OF_HOOK: `whsec_${'c2Vj'.repeat(10)}`,
    SECRET_OF_SERVER: 's3',
  }
  const env = { ...secrets, GATE_LISTENERS__ADMIN__PORT: '0', PLAIN: 'stays', API_KEY: 'its own' }
  const config = filesIn(root, { config: CONFIG, tools: 'env: {}' })
  const args = ['--config', config, '--name', 'scripted']
  const one = wrap({ data, args, env, command: scripted(log) })
  await one.initialize()
  const answer = await one.call('env')
  const seen = JSON.parse(textOf(answer)) as NodeJS.ProcessEnv
  expect(Object.keys(seen).filter((name) => /^(?:GATE_|SECRET_)/.test(name))).toEqual([])
  expect(seen).toMatchObject({ PLAIN: 'stays', API_KEY: 'its own', PATH: process.env.PATH })
  expect(Object.values(seen)).not.toContain('s1')
  await one.end()
})

it('says file and line of what is wrong in --config, and does not wait for the client', async () => {
  const { data, log, root } = fresh()
  const config = filesIn(root, { config: 'operator: acme\nlimits: {body_bytes: many}\n' })
  const one = wrap({ data, args: ['--config', config], command: scripted(log) })
  const { code } = await one.exited
  expect(code).not.toBe(0)
  expect(one.stderr).toMatch(/gate\.yaml:2/)
  expect(one.lines).toEqual([])
})

it('says file and line of what is wrong in a manifest, and does not wait for the client', async () => {
  const { data, log, root } = fresh()
  const config = filesIn(root, { tools: 'echo: {args: {a: nonsense}}' })
  const one = wrap({ data, args: ['--config', config], command: scripted(log) })
  const { code } = await one.exited
  expect(code).not.toBe(0)
  expect(one.stderr).toMatch(/m\.yaml:4/)
})

it('passes stderr on, in the limits of a client that reads', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log) })
  await one.initialize()
  expect(textOf(await one.call('flood', { lines: 20_000 }))).toBe('flooded')
  expect(textOf(await one.call('echo', {}))).toBe('{}')
  await one.end()
  expect(one.stderr).toContain('x'.repeat(1023))
  expect(one.stderr).toMatch(/\d+ bytes of stderr dropped/)
  expect(one.stderr.length).toBeLessThan(3_000_000)
})

it('is not held up by a client that does not read stderr', async () => {
  const { data, log } = fresh()
  const one = wrap({ data, command: scripted(log), deaf: true })
  await one.initialize()
  expect(textOf(await one.call('flood', { lines: 5_000 }))).toBe('flooded')
  // What the gate itself says goes there too.
  for (let n = 0; n < 300; n++) one.send({ method: `notifications/unknown_${'x'.repeat(400)}` })
  expect(textOf(await one.call('echo', {}))).toBe('{}')
  one.signal('SIGTERM')
  one.child.stderr?.resume()
  expect((await one.exited).code).toBe(143)
})

it.each(['claude-desktop', 'cursor', 'vscode'])('prints for %s what parses', async (client) => {
  const command = ['npx', '-y', '@modelcontextprotocol/server-filesystem', '/a folder']
  const { code, out } = await cli([
    'wrap',
    '--agent',
    'desk',
    '--show-config',
    client,
    '--',
    ...command,
  ])
  const parsed = JSON.parse(out)
  const { command: run, args } = Object.values(parsed.mcpServers ?? parsed.servers)[0] as {
    command: string
    args: string[]
  }
  expect({ code, name: Object.keys(parsed.mcpServers ?? parsed.servers) }).toEqual({
    code: 0,
    name: ['filesystem'],
  })
  expect([run, ...args]).toEqual([
    'npx',
    '-y',
    'capsule-gate',
    'wrap',
    '--agent',
    'desk',
    '--',
    ...command,
  ])
})

it('prints for claude-code a command that a shell splits as it was meant', async () => {
  const command = ['node', "it's here/server.js", '--show-config', 'x', '--', '$HOME']
  const { out } = await cli([
    'wrap',
    '--show-config=claude-code',
    '--name',
    'own',
    '--',
    ...command,
  ])
  const stdout = execFileSync('/bin/sh', ['-c', `printf '%s\\n' ${out}`], { encoding: 'utf8' })
  expect(stdout.trimEnd().split('\n')).toEqual([
    'claude',
    'mcp',
    'add',
    'own',
    '--',
    'npx',
    '-y',
    'capsule-gate',
    'wrap',
    '--name',
    'own',
    '--',
    ...command,
  ])
})
it('keeps its folder and its socket to its user', async () => {
  const { root, log } = fresh()
  chmodSync(root, 0o755)
  const env = { XDG_STATE_HOME: root }
  const one = wrap({ command: scripted(log), args: ['--name', 'scripted'], env })
  await one.initialize()
  const data = join(root, 'capsule-gate', 'scripted')
  const modeOf = (path: string): number => statSync(path).mode & 0o777
  expect([modeOf(data), modeOf(join(data, 'wrap.sock'))]).toEqual([0o700, 0o600])
  await one.end()
  expect(existsSync(join(data, 'wrap.sock'))).toBe(false)
  expect(readFileSync(log, 'utf8')).toContain('initialize')
})

it('says that a path is too long for its socket', async () => {
  const { root, log } = fresh()
  const one = wrap({ data: join(root, 'd'.repeat(100)), command: scripted(log) })
  expect((await one.exited).code).toBe(1)
  expect(one.stderr).toMatch(/choose a data folder with a shorter path/)
})
