import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from '@jest/globals'
import { sealFrame } from '../../../src/adapters/evidence/frame.js'
import { type KeyStore, openKeyStore } from '../../../src/adapters/evidence/key-store.js'
import { deriveMasterKey } from '../../../src/adapters/evidence/master-key.js'
import { openReserve, type Reserve } from '../../../src/adapters/evidence/reserve.js'
import { segmentFiles } from '../../../src/adapters/evidence/segment-files.js'
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
  const writer = openWriter({
    files: segmentFiles(folder, {}, () => undefined),
    segmentBytes: 1 << 20,
    keys: { ...keys, ...faulty.keys },
    reserve: { ...openReserve(join(dir, 'reserve'), 4096), ...faulty.reserve },
    seams: {},
    gather: () => Promise.resolve(),
  })
  closing.push(() => rmSync(dir, { recursive: true }), keys.close, writer.close)
  return { keys, writer }
}

function put({ keys, writer }: { keys: KeyStore; writer: Writer }, urgent: boolean): Promise<void> {
  writer.mayWrite(urgent)
  const { id, key } = keys.forScope('["subject","ada"]', writer.writeKey(urgent))
  const head = { action: Buffer.alloc(32, 1), keyId: id, digests: [Buffer.alloc(32, 2)] }
  return writer.append(sealFrame(head, key, Buffer.from('{}')), head, urgent)
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
  const store = start({ reserve: { isWhole: () => false, rebuild: () => false } })
  expect(store.writer.health()).toMatchObject({ ok: false })
  await expect((async () => put(store, false))()).rejects.toMatchObject({ code: 'disk_full' })
  await put(store, true)
})
