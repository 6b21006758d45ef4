import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { createGate } from '../../src/app/embedded-gate.js'
import { PAYMENTS } from '../support/manifests.js'
import { POLICIES } from '../support/rig.js'

/** A gate inside a program that takes no reports warns through the process; gate.yaml says from which level. */
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-log-'))
  mkdirSync(join(dir, 'manifests'))
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'manifests', 'payments.yaml'), PAYMENTS)
  writeFileSync(join(dir, 'policies', 'payments.cedar'), POLICIES)
})
afterEach(() => {
  jest.restoreAllMocks()
  rmSync(dir, { recursive: true, force: true })
})

it.each([
  ['info', true],
  ['warn', true],
  ['error', false],
])('log: {level: %s} lets a warning through: %s', async (level, warned) => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const file = join(dir, 'gate.yaml')
  writeFileSync(file, `log: {level: ${level}}\n`)
  const gate = await createGate(file, { recorder: { in: 'this_thread' } })
  await gate.close()
  // A policy wants a person to decide, and nobody can be asked here.
  const told = warn.mock.calls.some(([text]) => String(text).startsWith('approvals_off'))
  expect(told).toBe(warned)
})
