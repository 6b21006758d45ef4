import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readOutbox } from '../../../src/adapters/webhook/store.js'
import { AUTHORITY, LOCALHOST, OTHER_NAME } from '../../support/certificates.js'
import { missingMount, needs } from '../../support/needs.js'
import { bench, endpoint, opened, receiver } from './harness.js'

describe('TLS to a checked address', () => {
  const CHILD = join(import.meta.dirname, 'tls-child.mjs')

  async function attempt(identity: { cert: string; key: string }, trusted: boolean) {
    const dir = mkdtempSync(join(tmpdir(), 'gate-webhooks-tls-'))
    const server = createServer(identity, (_, response) => response.writeHead(204).end())
    try {
      writeFileSync(join(dir, 'ca.pem'), AUTHORITY)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const child = spawn(process.execPath, [CHILD, `https://localhost:${port}/`], {
        env: { ...process.env, ...(trusted ? { NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') } : {}) },
      })
      let out = ''
      child.stdout.on('data', (chunk) => {
        out += chunk
      })
      await once(child, 'close')
      return JSON.parse(out)
    } finally {
      server.close()
      rmSync(dir, { recursive: true, force: true })
    }
  }

  it('is for the name in the URL', async () => {
    expect(await attempt(LOCALHOST, true)).toEqual({ kind: 'answered', status: 204 })
  })
  it('with a certificate for another name fails', async () => {
    expect(await attempt(OTHER_NAME, true)).toEqual({
      kind: 'failed',
      why: 'connection ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })
  it('with a certificate of an unknown authority fails', async () => {
    expect(await attempt(LOCALHOST, false)).toMatchObject({
      kind: 'failed',
      why: expect.stringMatching(/^connection (UNABLE|SELF_SIGNED)/),
    })
  })
})

describe('a full disk', () => {
  const small = mkdtempSync(join(tmpdir(), 'gate-webhooks-disk-'))
  const mounted =
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', small]).status === 0
  if (!mounted) rmSync(small, { recursive: true })
  const { it: when } = needs(missingMount(mounted))

  when('stops no notification, is told, and leaves no gap once there is room again', async () => {
    const at = bench()
    const hook = await receiver()
    const folder = join(small, 'outbox')
    const filler = join(small, 'filler')
    try {
      const options = { folder, endpoints: [endpoint(hook.url)] }
      const first = await at.outbox(options)
      spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4096'])
      hook.answer = ({ event }) => ({ status: event.data.approval_id === 'a-7' ? 500 : 200 })
      // More than what is left of the file's last page.
      for (let i = 0; i < 40; i += 1) at.journal.append('APPROVAL_OPENED', opened(`a-${i}`))
      await hook.received(40)
      await at.heard('unwritten')
      await at.heard('retry')
      expect(new Set(hook.got.map(({ id }) => id)).size).toBe(40)

      rmSync(filler)
      at.journal.append('APPROVAL_OPENED', opened('a-40'))
      await hook.received(41)
      for (let i = 0; i < 40; i += 1) await at.heard('delivered')
      // As a crash would find it: the line that could not be written is there, those after it too.
      const state = readOutbox(folder)
      expect(state?.cursor).toBe(41)
      expect([...(state?.pending.values() ?? [])].map(({ approval }) => approval)).toEqual(['a-7'])
      await first.close()
    } finally {
      await at.close()
      await hook.close()
      spawnSync('umount', ['-l', small])
      rmSync(small, { recursive: true, force: true })
    }
  })
})
