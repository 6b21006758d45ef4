import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Role } from '../../src/adapters/identity/tokens.js'
import { type Installation, install, type Serving } from './admin-support.js'
import { cli, type Ran } from './support.js'

/** What operators do about declared calls, on the command line. */
const OBJECTS = `id: com.acme.cases
object: {type: case, id: case, states: [open, shut], transitions: {shut_case: {from: open, to: shut}}}
tools:
  shut_case:
    match: POST /v1/cases
    args: {case: string}
    irreversibility: two_way
    intent: optional
`
const ID = '0b6f2f1e-9d5c-4b53-9a0e-3f7d9c1a2b4c'
let home: Installation
let gate: Serving
const run = (args: readonly string[], role: Role = 'operator'): Promise<Ran> =>
  cli([...args, '--url', gate.admin, '--token-file', home.tokenFile[role]])
const done = (out: string) => ({ code: 0, out: `${out}\n`, err: '' })

beforeAll(async () => {
  home = await install()
  writeFileSync(join(home.home, 'manifests', 'cases.yaml'), OBJECTS)
  gate = await home.start()
})
afterAll(() => home.close())

describe('sessions', () => {
  it('are opened, shown, halted and closed', async () => {
    expect(await run(['sessions', 'ls'])).toEqual(done('no session is open'))
    const open = ['sessions', 'open', 'case/7', '--agent', 'support-bot']
    expect(await run(open)).toEqual(done('open: session case/7 of support-bot'))
    expect(await run(open)).toEqual(done('open already: session case/7 of support-bot'))
    const other = await run(['sessions', 'open', 'case/7', '--agent', 'other-bot'])
    expect([other.code, other.err]).toEqual([1, expect.stringContaining("another agent's")])
    expect(await run(['halt', '--session', 'case/7'])).toEqual(done('halted: session case/7'))
    const listed = await run(['sessions', 'ls'], 'viewer')
    expect(listed.out).toMatch(/^case\/7 +support-bot +0 .* halted, open$/m)
    await run(['resume', '--session', 'case/7'])
    const json = JSON.parse((await run(['sessions', 'show', 'case/7', '--json'])).out)
    expect(json).toMatchObject({ session_id: 'case/7', state: 'open', halted: false })
    expect((await run(['sessions', 'show', 'case/7'])).out).toMatch(/^agent +support-bot$/m)
    expect(await run(['sessions', 'close', 'case/7'])).toEqual(done('over: session case/7'))
    expect(await run(['sessions', 'close', 'case/7'])).toEqual(done('over already: session case/7'))
    expect((await run(['sessions', 'show', 'case/7'])).out).toMatch(/^state +over$/m)
    const late = await run(open)
    expect([late.code, late.err]).toEqual([1, expect.stringContaining('never opens again')])
  })

  it('want a name, a role and what is there', async () => {
    expect((await run(['sessions', 'close'])).code).toBe(2)
    expect((await run(['sessions', 'open', 'x'])).code).toBe(2)
    const viewer = await run(['sessions', 'open', 'x', '--agent', 'y'], 'viewer')
    expect([viewer.code, viewer.err]).toEqual([1, expect.stringContaining('403')])
    const nothing = await run(['sessions', 'close', 'never-seen'])
    expect([nothing.code, nothing.err]).toEqual([
      1,
      expect.stringContaining('never such a session'),
    ])
  })
})

describe('mandates, missions and objects', () => {
  it('are what an operator says', async () => {
    expect(await run(['mandates', 'revoke', 'm-1'])).toEqual(done('revoked: mandate m-1'))
    expect(await run(['mandates', 'revoke', 'm-1'])).toEqual(done('revoked already: mandate m-1'))
    const set = ['missions', 'set', ID, '--phase', 'SUSPENDED']
    expect(await run(set)).toEqual(done(`mission ${ID} is SUSPENDED`))
    expect(await run([...set, '--json'])).toEqual(
      done(JSON.stringify({ mission_ref: ID, phase: 'SUSPENDED', recorded: false })),
    )
    const object = ['objects', 'set', ID, '--state', 'shut']
    expect(await run(object)).toEqual(done(`object ${ID} is shut`))
    expect(await run(['objects', 'show', ID], 'viewer')).toEqual(done(`object ${ID} is shut`))
  })

  it.each([
    [['missions', 'set', ID, '--phase', 'DONE'], 2, 'ACTIVE, SUSPENDED, FAILED, ABANDONED'],
    [['missions', 'set', ID], 2, '--phase'],
    [['missions', 'set', 'not-a-uuid', '--phase', 'ACTIVE'], 1, '400'],
    [['objects', 'set', ID, '--state', 'nonsense'], 1, 'there are: open, shut'],
    [['objects', 'set', ID], 2, '--state'],
    [['objects', 'show', ID.replace('0b', '0c')], 1, 'where objects begin'],
    [['mandates', 'revoke'], 2, 'id'],
  ])('%j says what is wrong', async (args, code, said) => {
    // Commander says on its own what is missing; nothing is asked of the gate.
    const ran = await run(args)
    expect([ran.code, ran.err.replaceAll('"', '')]).toEqual([code, expect.stringContaining(said)])
  })

  it('have help', async () => {
    for (const name of ['sessions', 'mandates', 'missions', 'objects']) {
      const { code, out } = await cli([name, '--help'])
      expect([name, code, out]).toEqual([name, 0, expect.stringContaining(`capsule-gate ${name}`)])
    }
  })
})
