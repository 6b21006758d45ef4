import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { loadConfig } from '../../src/config/load.js'
import { OWN } from '../../src/core/mcp/meta.js'
import { clientMayNotify, passes, serverMayNotify } from '../../src/core/mcp/methods.js'
import { cli } from '../cli/support.js'

/** docs/mcp.md: what it says to paste, what it says that passes, and the keys it names. */
const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PAGE = read('docs/mcp.md')

describe('what to paste', () => {
  const shown = [...PAGE.matchAll(/<!-- output: capsule-gate (.+) -->\n```\w+\n([\s\S]*?)```/g)]
  it.each(shown.map(([, command = '', text = '']) => [command, text] as const))(
    '%s prints what is shown',
    async (command, text) => {
      expect(await cli(command.split(' '))).toEqual({ code: 0, out: text, err: '' })
    },
  )

  it('is the same for Cursor as for Claude Desktop', async () => {
    expect(shown).toHaveLength(3)
    const of = (client: string) => cli(['wrap', '--show-config', client, '--', 'npx', 'a'])
    expect(await of('cursor')).toEqual(await of('claude-desktop'))
  })
})

describe('what is a call', () => {
  const [, section = ''] = /\n## What is a call\n([\s\S]*?)\n## /.exec(PAGE) ?? []
  /** The methods of the rows whose sender and last column these are. */
  const methods = (sender: RegExp, last: RegExp): string[] =>
    [...section.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)]
      .filter(([, who = '', , what = '']) => sender.test(who) && last.test(what))
      .flatMap(([, , named = '']) => [...named.matchAll(/`([^`]+)`/g)].map(([, one = '']) => one))

  it('names every method that the gate knows', () => {
    const known = read('src/core/mcp/methods.ts').matchAll(
      /'([a-z]+\/[A-Za-z/_]+|initialize|ping)'/g,
    )
    const missing = [...known].filter(([, method = '']) => !section.includes(`\`${method}\``))
    expect(missing.map(([, method]) => method)).toEqual([])
  })

  it.each(methods(/^client/, /^a call$/))('%s is one', (method) => {
    expect([passes(method, 'legacy'), passes(method, 'modern')]).toEqual([false, false])
  })
  it.each(methods(/^client$/, /^passes$/))('%s passes', (method) => {
    expect(passes(method, 'legacy') || passes(method, 'modern')).toBe(true)
  })
  it('older and newer methods pass in their own era alone', () => {
    const older = methods(/^client, up to/, /^passes$/)
    const newer = methods(/^client, from/, /^passes$/)
    expect(older.length * newer.length).toBeGreaterThan(0)
    for (const method of older) {
      expect([method, passes(method, 'legacy'), passes(method, 'modern')]).toEqual([
        method,
        true,
        false,
      ])
    }
    for (const method of newer) {
      expect([method, passes(method, 'legacy'), passes(method, 'modern')]).toEqual([
        method,
        false,
        true,
      ])
    }
  })
  it.each(methods(/^client$/, /^passes; others/))('%s of a client passes', (method) => {
    expect(clientMayNotify(method)).toBe(true)
  })
  it.each(methods(/^server$/, /^passes; others/))('%s of a server passes', (method) => {
    expect(serverMayNotify(method)).toBe(true)
  })
})

describe('names', () => {
  it.each(Object.values(OWN))('%s is in the table of keys', (key) => {
    expect(PAGE).toContain(`| \`${key}\` |`)
  })

  it('has every method of the gate itself', () => {
    const own = read('src/mounts/mcp/own-methods.ts').matchAll(/\$\{OWN_PREFIX\}([a-z/]+)`\]/g)
    const names = [...own].map(([, name = '']) => `dev.capsulegate/${name}`)
    expect(names.length).toBeGreaterThan(4)
    expect(names.filter((name) => !PAGE.includes(`| \`${name}\` |`))).toEqual([])
  })

  it('shows a gate.yaml that loads', () => {
    const [, text = ''] = /<!-- gate\.yaml -->\n```yaml\n([\s\S]*?)```/.exec(PAGE) ?? []
    const dir = mkdtempSync(join(tmpdir(), 'docs-mcp-'))
    try {
      writeFileSync(join(dir, 'gate.yaml'), text)
      const env = { BOT_TOKEN_SHA256: 'ab'.repeat(32), TICKETS_TOKEN: 'Bearer t' }
      const loaded = loadConfig(join(dir, 'gate.yaml'), env)
      expect(loaded).toMatchObject({ ok: true })
      if (loaded.ok) expect(Object.keys(loaded.config.mcp)).toEqual(['filesystem', 'tickets'])
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })
})
