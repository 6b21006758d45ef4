import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { loadConfig } from '../../../src/config/load.js'
import { sayProblem } from '../../../src/config/model.js'

const SECRET = `whsec_${'A'.repeat(32)}`
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sources-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function load(sources: string, env: Record<string, string> = {}) {
  const file = join(dir, 'gate.yaml')
  writeFileSync(file, `upstream: http://127.0.0.1:1\napprovals:\n  sources:\n${sources}`)
  return loadConfig(file, env)
}
const faults = (loaded: ReturnType<typeof load>): string =>
  loaded.ok ? '' : loaded.problems.map(sayProblem).join('\n')

describe('approvals.sources', () => {
  it('is empty without a word, so that nobody but token holders decides', () => {
    const file = join(dir, 'gate.yaml')
    writeFileSync(file, 'upstream: http://127.0.0.1:1\n')
    const loaded = loadConfig(file, {})
    expect(loaded.ok && loaded.config.approvals).toEqual({
      enabled: null,
      open_per_agent: 100,
      open_per_session: 3,
      sources: {},
    })
  })

  it('vouches for people only when told to, and keeps the secret by its place', () => {
    const loaded = load(
      '    chat: {secret_env: CHAT, asserts_people: true, people: {U1: ada}}\n    tickets: {secret_file: s}\n',
      { CHAT: SECRET },
    )
    writeFileSync(join(dir, 's'), SECRET)
    const again = loadConfig(join(dir, 'gate.yaml'), { CHAT: SECRET })
    expect(faults(loaded)).toContain('cannot be read')
    expect(again.ok && again.config.approvals.sources).toEqual({
      chat: {
        secret: { kind: 'env', name: 'CHAT' },
        asserts_people: true,
        people: { U1: 'ada' },
        roles: ['approver'],
      },
      tickets: {
        secret: { kind: 'file', path: join(dir, 's') },
        asserts_people: false,
        people: {},
        roles: ['approver'],
      },
    })
    expect(JSON.stringify(again)).not.toContain('whsec_')
  })

  it.each([
    ['no secret', '    chat: {}\n', 'secret_env or secret_file'],
    ['two secrets', '    chat: {secret_env: A, secret_file: b}\n', 'secret_env or secret_file'],
    ['a secret in the file', '    chat: {secret: whsec_AAAA}\n', 'secret'],
    ['a variable that is not set', '    chat: {secret_env: NOPE}\n', 'NOPE is not set'],
    [
      'people it does not vouch for',
      '    chat: {secret_env: A, people: {U1: ada}}\n',
      'asserts_people',
    ],
    ['a secret nothing can be signed with', '    chat: {secret_env: A}\n', 'base64'],
    ['no role at all', '    chat: {secret_env: A, roles: []}\n', 'roles'],
  ])('refuses %s and names the line', (_, text, said) => {
    const told = faults(load(text, { A: 'x' }))
    expect(told).toContain(said)
    expect(told).toMatch(/gate\.yaml:4:/)
  })
})
