import { appendFileSync, chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Installation, install } from '../admin-support.js'
import { cli } from '../support.js'

type Check = { name: string; status: string; detail: string; fix: string | null }
let home: Installation
beforeAll(async () => {
  home = await install()
  Object.assign(process.env, home.env)
  const gate = await home.start()
  await gate.refund('5.00')
  expect(await gate.stop()).toBe(0)
})
afterAll(async () => {
  for (const name of Object.keys(home.env)) delete process.env[name]
  await home.close()
})

async function doctor(): Promise<{ code: number | null; checks: Check[] }> {
  const { code, out } = await cli(['doctor', '--config', home.config, '--json'])
  return { code, checks: (JSON.parse(out) as { checks: Check[] }).checks }
}
const bad = (checks: readonly Check[], status = 'fail'): Check[] =>
  checks.filter((check) => check.status === status)

/** Breaks one thing, looks, and mends it again. */
async function broken(breaks: () => () => void): Promise<{ code: number | null; checks: Check[] }> {
  const mend = breaks()
  try {
    return await doctor()
  } finally {
    mend()
  }
}
const replaced =
  (path: string, text: string): (() => () => void) =>
  () => {
    const before = readFileSync(path)
    writeFileSync(path, text)
    return () => writeFileSync(path, before)
  }
const withMode =
  (path: string, mode: number, after: number): (() => () => void) =>
  () => {
    chmodSync(path, mode)
    return () => chmodSync(path, after)
  }

describe('doctor', () => {
  it('finds nothing wrong with a sound installation', async () => {
    const { code, checks } = await doctor()
    expect([code, bad(checks)]).toEqual([0, []])
    const names = new Set(checks.map(({ name }) => name))
    for (const name of [
      ...['config', 'permissions', 'keys', 'disk', 'tokens', 'journal', 'clock', 'second head'],
      'evidence',
      ...['manifests', 'policy', 'upstream default', 'admin listener'],
    ]) {
      expect(names).toContain(name)
    }
  })

  const key = (): string => join(home.data, 'keys', 'statement-1.key')
  it.each<[string, () => () => void, string, RegExp]>([
    ['a key others may read', () => withMode(key(), 0o644, 0o600)(), 'permissions', /^chmod 600 /],
    ['an open folder', () => withMode(home.data, 0o777, 0o700)(), 'permissions', /^chmod 700 /],
    [
      'a policy that does not parse',
      () => replaced(join(home.home, 'policies', 'payments.cedar'), 'permit (')(),
      'policy',
      /correct/,
    ],
    [
      'a manifest that does not load',
      () => replaced(join(home.home, 'manifests', 'payments.yaml'), 'id: x\ntools: 5\n')(),
      'manifests',
      /manifest check/,
    ],
    ['a damaged token file', () => replaced(join(home.data, 'tokens.json'), '{')(), 'tokens', /./],
    ['a misspelt key', () => replaced(home.config, 'upstrem: x\n')(), 'config', /config check/],
    [
      'an upstream nobody is at',
      () => replaced(home.config, 'upstream: http://127.0.0.1:1\noperator: acme\n')(),
      'upstream default',
      /./,
    ],
  ])('%s fails with what to do', async (_, breaks, name, fix) => {
    const { code, checks } = await broken(breaks)
    expect(code).toBe(1)
    expect(bad(checks)[0]).toMatchObject({ name, fix: expect.stringMatching(fix) })
  })

  it('tells a journal older than its second head, and a clock behind the last line', async () => {
    const journal = join(home.data, 'journal', '00000001.jsonl')
    const lines = readFileSync(journal, 'utf8').trimEnd().split('\n')
    const older = await broken(replaced(journal, `${lines.slice(0, -2).join('\n')}\n`))
    expect(bad(older.checks).map(({ name }) => name)).toEqual(['second head'])
    const future = String(lines.at(-1)).replace(/"at":"\d{4}/, '"at":"2999')
    const ahead = await broken(() => {
      appendFileSync(journal, `${future}\n`)
      return () => writeFileSync(journal, `${lines.join('\n')}\n`)
    })
    expect(bad(ahead.checks).map(({ name }) => name)).toEqual(['clock'])
  })

  it('tells evidence that is missing from evidence that is damaged', async () => {
    const segment = join(home.data, 'evidence', 'segments', '0000000001.seg')
    const bytes = readFileSync(segment)
    const gone = await broken(() => {
      rmSync(segment)
      return () => writeFileSync(segment, bytes)
    })
    const changed = Buffer.from(bytes)
    changed.writeUInt8((changed.at(-30) ?? 0) ^ 1, changed.length - 30)
    const flipped = await broken(() => {
      writeFileSync(segment, changed)
      return () => writeFileSync(segment, bytes)
    })
    for (const [{ code, checks }, said] of [
      [gone, /[1-9]\d* missing, 0 damaged/],
      [flipped, /0 missing, [1-9]\d* damaged/],
    ] as const) {
      expect(code).toBe(1)
      expect(bad(checks)).toEqual([
        expect.objectContaining({
          name: 'evidence',
          detail: expect.stringMatching(said),
          fix: expect.stringContaining('ledger verify --evidence'),
        }),
      ])
    }
  })

  it('warns of an admin listener others reach and of a missing second head', async () => {
    const head = `${home.data}.head`
    const { code, checks } = await broken(() => {
      const before = readFileSync(home.config, 'utf8')
      const bytes = readFileSync(head)
      rmSync(head)
      writeFileSync(home.config, `${before}listeners: {admin: {host: 0.0.0.0}}\n`)
      return () => {
        writeFileSync(home.config, before)
        writeFileSync(head, bytes)
      }
    })
    expect(code).toBe(0)
    const names = bad(checks, 'warn').map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['admin listener', 'second head']))
  })
})
