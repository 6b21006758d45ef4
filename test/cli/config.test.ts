import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { cli } from './support.js'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-cli-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))
const run = (args: readonly string[], env = {}) => cli(args, { env })

describe('config', () => {
  it('check prints the effective view without secrets', async () => {
    const file = join(dir, 'gate.yaml')
    writeFileSync(file, 'upstream: https://pay.internal\ncredential: {env: PAY}\n')
    const { code, out } = await run(['config', 'check', file], { PAY: 'hunter2' })
    expect(code).toBe(0)
    expect(out).toContain('(from env PAY)')
    expect(out).not.toContain('hunter2')
  })

  it('check exits 1 with problems as JSON', async () => {
    const file = join(dir, 'gate.yaml')
    writeFileSync(file, 'upstrem: x\n')
    const { code, out } = await run(['config', 'check', '--json', file])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ ok: false, problems: [{ line: 1, column: 1 }] })
  })

  it('schema prints a strict JSON Schema', async () => {
    const schema = JSON.parse((await run(['config', 'schema'])).out)
    expect(schema).toMatchObject({ additionalProperties: false, type: 'object' })
  })
})
