import {
  fstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { ifThereSync } from '../../../src/adapters/disk/errno.js'
import { readFully, withFile, withFileSync } from '../../../src/adapters/disk/with-file.js'

let dir: string
let path: string
let umask: number
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-with-file-'))
  path = join(dir, 'file')
  // The widest there is: what is private is so by the mode that was asked for.
  umask = process.umask(0)
})
afterEach(() => {
  process.umask(umask)
  rmSync(dir, { recursive: true })
})

const modeOf = (file: string): number => statSync(file).mode & 0o777
/** Whether this process has the file open, as the kernel tells it. */
const isOpen = (): boolean =>
  readdirSync('/proc/self/fd').some(
    (fd) => ifThereSync(() => readlinkSync(`/proc/self/fd/${fd}`)) === path,
  )

describe('a file opened for a while', () => {
  it('is open in the meantime, closed after, and private when it is new', async () => {
    const seen = await withFile(path, 'w', async (file) => {
      await file.writeFile('later')
      return isOpen()
    })
    expect([seen, isOpen(), modeOf(path)]).toEqual([true, false, 0o600])
    expect(readFileSync(path, 'utf8')).toBe('later')

    rmSync(path)
    const seenNow = withFileSync(path, 'w', (fd) => {
      writeSync(fd, 'at once')
      return isOpen()
    })
    expect([seenNow, isOpen(), modeOf(path)]).toEqual([true, false, 0o600])
    expect(readFileSync(path, 'utf8')).toBe('at once')
  })

  it('is closed when its use fails, and the failure is told as it was', async () => {
    const failure = new Error('as the disk said it')
    const later = withFile(path, 'w', async () => {
      throw failure
    })
    await expect(later).rejects.toBe(failure)
    expect(isOpen()).toBe(false)
    const atOnce = (): never =>
      withFileSync(path, 'w', () => {
        throw failure
      })
    expect(atOnce).toThrow(failure)
    expect(isOpen()).toBe(false)
  })

  it('is not closed before its use has ended', async () => {
    await withFile(path, 'w', async (file) => {
      await new Promise((done) => setImmediate(done))
      expect(fstatSync(file.fd).isFile()).toBe(true)
    })
  })

  it('has another mode where one is asked for, and keeps its own where it was there', () => {
    withFileSync(path, 'w', () => undefined, 0o644)
    expect(modeOf(path)).toBe(0o644)
    withFileSync(path, 'w', () => undefined)
    expect(modeOf(path)).toBe(0o644)
  })

  it('that is not there is not used', async () => {
    const used: string[] = []
    const later = withFile(path, 'r', async () => used.push('later'))
    await expect(later).rejects.toMatchObject({ code: 'ENOENT' })
    expect(() => withFileSync(path, 'r', () => used.push('at once'))).toThrow(/ENOENT/)
    expect(used).toEqual([])
  })
})

describe('reading in full', () => {
  const TEXT = '0123456789'
  beforeEach(() => writeFileSync(path, TEXT))
  /** The file as a kernel may hand it out: so many octets in one read at most. */
  const inPieces = (file: FileHandle, most: number): FileHandle =>
    ({
      read: (buffer: Buffer, offset: number, length: number, position: number) =>
        file.read(buffer, offset, Math.min(length, most), position),
    }) as unknown as FileHandle

  it.each([1, 3, 10])('goes on after reads of %i octets until there is all', async (most) => {
    const buffer = Buffer.alloc(8)
    const got = await withFile(path, 'r', (file) => readFully(inPieces(file, most), buffer, 1))
    expect([got, buffer.toString()]).toEqual([8, '12345678'])
  })

  it.each<[string, number, number, string]>([
    ['in the last octets', 7, 3, '789.....'],
    ['at the end', 10, 0, '........'],
    ['far behind the end', 1000, 0, '........'],
  ])('from a position %s tells how much there was', async (_, position, there, text) => {
    for (const most of [1, 100]) {
      const buffer = Buffer.alloc(8, '.')
      const read = (file: FileHandle) => readFully(inPieces(file, most), buffer, position)
      expect(await withFile(path, 'r', read)).toBe(there)
      expect(buffer.toString()).toBe(text)
    }
  })

  it('fills from the offset on, so many as asked for, and touches nothing else', async () => {
    const buffer = Buffer.alloc(8, '.')
    await withFile(path, 'r', async (file) => {
      expect(await readFully(inPieces(file, 2), buffer, 4, 2, 3)).toBe(3)
      expect(buffer.toString()).toBe('..456...')
      expect(await readFully(file, buffer, 0, 5)).toBe(3)
      expect(buffer.toString()).toBe('..456012')
      expect(await readFully(file, buffer, 0, 8)).toBe(0)
      expect(await readFully(file, Buffer.alloc(0), 0)).toBe(0)
    })
  })
})
