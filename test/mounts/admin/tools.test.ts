import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { describedTool } from '../../support/manifests.js'
import { type Plane, startPlane } from './harness.js'

const WRITE = describedTool('write', 'Writes a file.')
const CHANGED = describedTool('write', 'Writes a file, and mails it.', { maximum: 2 ** 53 - 1 })

let plane: Plane
beforeEach(async () => {
  plane = await startPlane()
  await plane.gate.pinTools('files', [WRITE, describedTool('a/b c', 'An odd name.')])
})
afterEach(() => plane.close())

const get = async (path: string) => (await plane.ask('GET', path, { as: 'viewer' })).json()
const accept = (definition: string, path = 'files/write') =>
  plane.ask('POST', `/v1/tools/${path}/accept`, { body: { definition } })
const published = (digest: string): string =>
  join(plane.rig.dir, 'data', 'evidence', 'public', digest)

describe('tools of servers', () => {
  it('are listed with what they are held to, and what they changed to', async () => {
    const held = { server: 'files', tool: 'write', definition: WRITE.digest }
    const [odd, write] = (await get('/v1/tools')).tools as object[]
    expect(write).toEqual({ ...held, state: 'accepted', seen: null })
    expect(odd).toMatchObject({ tool: 'a/b c' })
    await plane.gate.pinTools('files', [CHANGED])
    const { tools } = await get('/v1/tools')
    expect(tools).toContainEqual({ ...held, state: 'changed', seen: CHANGED.digest })
  })

  it('are shown with their descriptions, as text that loses no number', async () => {
    expect(await get('/v1/tools/files/write')).toMatchObject({
      state: 'accepted',
      documents: { definition: WRITE.document, seen: null },
    })
    await plane.gate.pinTools('files', [CHANGED])
    expect(await get('/v1/tools/files/write')).toMatchObject({
      state: 'changed',
      documents: { definition: WRITE.document, seen: CHANGED.document },
    })
    expect(await get('/v1/tools/files/a%2Fb%20c')).toMatchObject({ tool: 'a/b c' })
  })

  it.each(['/v1/tools/files/none', '/v1/tools/none/write'])('%s is not there', async (path) => {
    const answered = await plane.ask('GET', path)
    expect([answered.status, answered.json().code]).toEqual([404, 'not_found'])
    expect((await accept(WRITE.digest, path.slice('/v1/tools/'.length))).status).toBe(404)
  })

  it('whose description is gone or damaged say so', async () => {
    writeFileSync(published(WRITE.digest), '{}')
    const damaged = await plane.ask('GET', '/v1/tools/files/write')
    expect([damaged.status, damaged.json().code]).toEqual([500, 'evidence_damaged'])
    rmSync(published(WRITE.digest))
    expect(await get('/v1/tools/files/write')).toMatchObject({ documents: { definition: null } })
    expect(readdirSync(join(published(WRITE.digest), '..'))).not.toContain(WRITE.digest)
  })
})

describe('accepting', () => {
  it('takes exactly what the operator saw, once', async () => {
    await plane.gate.pinTools('files', [CHANGED])
    const wrong = await accept('0'.repeat(64))
    expect([wrong.status, wrong.json().code]).toEqual([409, 'not_seen'])
    const kept = await accept(WRITE.digest)
    expect([kept.status, kept.json()]).toMatchObject([200, { state: 'changed', recorded: false }])
    const done = await accept(CHANGED.digest)
    expect([done.status, done.json()]).toEqual([
      200,
      {
        server: 'files',
        tool: 'write',
        state: 'accepted',
        definition: CHANGED.digest,
        seen: null,
        recorded: true,
      },
    ])
    expect((await accept(CHANGED.digest)).json()).toMatchObject({ recorded: false })
    const lines = (await plane.rig.lines()).filter(({ type }) => type === 'TOOL_ACCEPTED')
    expect(lines).toMatchObject([{ actor: plane.rig.gate.parts.tenant.voter('the-operator') }])
  })
})
