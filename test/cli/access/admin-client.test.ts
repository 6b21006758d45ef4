import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { running } from '../admin-support.js'
import { cli } from '../support.js'

const at = running()

describe('a token in the environment', () => {
  it('is no setting of the gate', async () => {
    const file = join(at.home.home, 'empty.yaml')
    writeFileSync(file, 'operator: x\n')
    process.env.GATE_ADMIN_TOKEN = readFileSync(at.home.tokenFile.operator, 'utf8').trim()
    try {
      expect((await cli(['config', 'check', file])).code).toBe(0)
      expect((await cli(['halt', '--list', '--url', at.gate.admin])).code).toBe(0)
    } finally {
      delete process.env.GATE_ADMIN_TOKEN
    }
  })
})
