import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from '@jest/globals'
import { openReserve, type Reserve } from '../../../src/adapters/disk/reserve.js'
import { deriveMasterKey } from '../../../src/adapters/evidence/keys/master-key.js'
import { type KeyStore, openKeyStore } from '../../../src/adapters/evidence/keys/store.js'
import { segmentFiles } from '../../../src/adapters/evidence/segment/files.js'
import { encryptFrame } from '../../../src/adapters/evidence/segment/frame.js'
import { openWriter, type Writer } from '../../../src/adapters/evidence/writer.js'
import { MASTER } from './bench.js'

/** Faults of single files under the writer that no file system here can be made to show. */
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function start(faulty: { keys?: Partial<KeyStore>; reserve?: Partial<Reserve> }) {
  const dir = mkdtempSync(join(tmpdir(), 'evidence-writer-'))
  const folder = join(dir, 'segments')
  mkdirSync(folder)
  const keys = openKeyStore(join(dir, 'keys'), deriveMasterKey(MASTER), {})
  const reserve = openReserve(dir, 4096, 4096)
  const writer = openWriter({
    files: segmentFiles(folder, {}, () => undefined),
    segmentBytes: 1 << 20,
    keys: { ...keys, ...faulty.keys },
    reserve: { ...reserve, ...faulty.reserve },
    seams: {},
    gather: () => Promise.resolve(),
  })
  closing.push(() => rmSync(dir, { recursive: true }), reserve.close, keys.close, writer.close)
  return { keys, writer }
}

function put({ keys, writer }: { keys: KeyStore; writer: Writer }, urgent: boolean): Promise<void> {
  writer.mayWrite(urgent)
  const { id, key } = keys.forScope('["subject","ada"]', writer.writeKey(urgent))
  const head = { action: Buffer.alloc(32, 1), keyId: id, digests: [Buffer.alloc(32, 2)] }
  return writer.append(encryptFrame(head, key, Buffer.from('{}')), head, urgent)
}

it('takes nothing more once a key could not be made durable: a later sync would prove nothing', async () => {
  let syncs = 0
  const sync = async (): Promise<void> => {
    syncs += 1
    throw new Error('EIO: i/o error, fdatasync')
  }
  const store = start({ keys: { sync } })
  await expect(put(store, false)).rejects.toMatchObject({ code: 'write_failed' })
  expect(store.writer.health()).toMatchObject({ ok: false })
  // Not even a conclusion, which may use the reserve: its record could not be opened after a power loss.
  for (const urgent of [false, true]) {
    await expect((async () => put(store, urgent))()).rejects.toMatchObject({ code: 'poisoned' })
  }
  expect(syncs).toBe(1)
})

it('while the reserve is not whole, only conclusions are taken', async () => {
  const restore = (): void => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }
  const store = start({ reserve: { whole: () => false, restore } })
  expect(store.writer.health()).toMatchObject({ ok: false })
  await expect((async () => put(store, false))()).rejects.toMatchObject({ code: 'disk_full' })
  await put(store, true)
})
