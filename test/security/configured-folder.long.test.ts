import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Installation, install } from '../cli/admin-support.js'
import { cli } from '../cli/support.js'

/** Every command works on the folder that `serve` uses: a token in another folder opens nothing. */
let at: Installation
let elsewhere: string

beforeAll(async () => {
  at = await install()
  elsewhere = mkdtempSync(join(tmpdir(), 'gate-elsewhere-'))
  rmSync(at.data, { recursive: true })
  writeFileSync(
    at.config,
    // The agent's hash stands in a variable that is not set here: no command below may need it.
    `upstream: http://127.0.0.1:9\noperator: acme\nagents: {support-bot: {token_sha256_env: BOT_TOKEN_SHA256}}
data_dir: state/gate\njournal: {head_file: heads/gate.head}\nevidence: {master_key_file: secrets/evidence.key}
listeners: {data: {port: 0}, admin: {port: 0}}\n`,
  )
  for (const folder of ['heads', 'secrets']) mkdirSync(join(at.home, folder))
})
afterAll(async () => {
  await at.close()
  rmSync(elsewhere, { recursive: true, force: true })
})

const data = (): string => join(at.home, 'state', 'gate')
const here = (...args: string[]) => cli(args, { cwd: at.home })
const away = (...args: string[]) => cli([...args, '--config', at.config], { cwd: elsewhere })

describe('data_dir of gate.yaml', () => {
  it('a token made beside gate.yaml, or with --config from elsewhere, opens the running gate', async () => {
    const made = await here('tokens', 'create', '--name', 'support-bot')
    expect(made.code).toBe(0)
    expect(made.err).toContain(data())
    expect(existsSync(join(at.home, 'data'))).toBe(false)
    const second = await away('tokens', 'create', '--name', 'other-bot')
    expect(second.code).toBe(0)
    expect(existsSync(join(elsewhere, 'data'))).toBe(false)
    const serving = await at.start()
    for (const { out } of [made, second]) {
      const answer = await fetch(`${serving.agents}/none`, {
        headers: { authorization: `Bearer ${out.trim()}` },
      })
      expect(await answer.json()).toMatchObject({ status: 403, code: 'tool_unknown' })
    }
    expect(await serving.stop()).toBe(0)
  })

  it('tokens list and revoke look there', async () => {
    expect((await away('tokens', 'list')).out).toContain('other-bot')
    expect((await here('tokens', 'revoke', '--name', 'other-bot')).code).toBe(0)
    expect((await here('tokens', 'list')).out).not.toContain('other-bot')
  })

  it('ledger reads there, and verifies against the configured second head', async () => {
    for (const run of [here, away]) {
      expect((await run('ledger', 'ls')).out).toContain('denied')
      const verified = await run('ledger', 'verify')
      expect(verified.code).toBe(0)
      expect(verified.out).toMatch(/complete up to head \d+ of /)
      expect(verified.out).not.toMatch(/second head: missing|whether there were later lines/)
    }
  })

  it('evidence is decrypted with the configured key', async () => {
    const { out } = await here('ledger', 'ls', '--verdict', 'denied', '--json')
    const { capsule } = JSON.parse(
      out.split('\n').filter((line) => line.includes('support-bot'))[0] ?? '',
    )
    for (const run of [here, away]) {
      const shown = await run('evidence', 'show', capsule.action_id)
      expect(shown.err).toBe('')
      expect(shown.out).toContain('tool_unknown')
    }
  })

  it('keys are those of that folder', async () => {
    for (const run of [here, away]) {
      const listed = await run('keys', 'list')
      expect(listed.code).toBe(0)
      expect(listed.out).toContain('statement')
      expect((await run('keys', 'create')).err).toContain(join(data(), 'keys'))
    }
    expect(existsSync(join(at.home, 'keys'))).toBe(false)
  })

  it('webhooks look there', async () => {
    for (const run of [here, away]) {
      expect((await run('webhooks', 'ls')).err).toContain(data())
    }
  })

  it('doctor examines that folder', async () => {
    expect((await away('doctor', '--json')).out).not.toContain('is not there yet')
  })
})

describe('a second data folder beside the configured one', () => {
  it('is not made by tokens create or keys create: the command says where the gate keeps its data', async () => {
    for (const args of [
      ['tokens', 'create', '--name', 'x', '--dir', 'data'],
      ['keys', 'create', '--dir', 'keys'],
    ]) {
      const refused = await here(...args)
      expect(refused).toMatchObject({ code: 2, out: '' })
      expect(refused.err).toContain(`keeps its data in ${data()}`)
    }
    expect(existsSync(join(at.home, 'data'))).toBe(false)
    expect(existsSync(join(at.home, 'keys'))).toBe(false)
  })

  it('is used when it is there and named', async () => {
    mkdirSync(join(at.home, 'second'), { mode: 0o700 })
    expect((await here('tokens', 'create', '--name', 'x', '--dir', 'second')).code).toBe(0)
    expect((await here('tokens', 'list', '--dir', 'second')).out).toContain('x')
  })

  it('is not made by tokens list or revoke either', async () => {
    expect((await cli(['tokens', 'list'], { cwd: elsewhere })).code).toBe(2)
    expect((await cli(['tokens', 'revoke', '--name', 'x'], { cwd: elsewhere })).code).toBe(2)
    expect(existsSync(join(elsewhere, 'data'))).toBe(false)
  })

  it('a gate.yaml with a mistake is told, not passed over', async () => {
    const broken = join(elsewhere, 'gate.yaml')
    writeFileSync(broken, 'data_dirr: state\n')
    const told = await cli(['tokens', 'create', '--name', 'x'], { cwd: elsewhere })
    expect(told.code).toBe(1)
    expect(told.err).toContain('unknown key "data_dirr"')
    expect(existsSync(join(elsewhere, 'data'))).toBe(false)
    rmSync(broken)
  })
})
