import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { makeFolder, syncFolder } from '../../../src/adapters/disk/folder.js'

/** What of it a power loss leaves: power-loss.test.ts. */
let root: string
let umask: number
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gate-folder-'))
  umask = process.umask(0)
})
afterEach(() => {
  process.umask(umask)
  rmSync(root, { recursive: true })
})
const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('making a folder', () => {
  it('makes all that lead to it, each private', () => {
    makeFolder(join(root, 'a', 'b', 'c'))
    for (const path of ['a', 'a/b', 'a/b/c']) expect(modeOf(join(root, path))).toBe(0o700)
  })

  it('takes a path from the working folder on, with turns in it', () => {
    makeFolder(join(relative(process.cwd(), root), 'a', '..', 'b', '.', 'c', ''))
    expect(readdirSync(root)).toEqual(['b'])
    expect(readdirSync(join(root, 'b'))).toEqual(['c'])
  })

  it('leaves one that is there as it is: its files, its mode, and the mode of those above', () => {
    const path = join(root, 'a', 'b')
    mkdirSync(path, { recursive: true })
    chmodSync(path, 0o750)
    writeFileSync(join(path, 'file'), 'content')
    makeFolder(path)
    makeFolder(join(path, 'c'))
    expect([modeOf(join(root, 'a')), modeOf(path), modeOf(join(path, 'c'))]).toEqual([
      0o777, 0o750, 0o700,
    ])
    expect(readdirSync(path)).toEqual(['c', 'file'])
  })

  it('goes through a link to a folder', () => {
    mkdirSync(join(root, 'real'))
    symlinkSync(join(root, 'real'), join(root, 'link'))
    makeFolder(join(root, 'link'))
    makeFolder(join(root, 'link', 'a', 'b'))
    expect(existsSync(join(root, 'real', 'a', 'b'))).toBe(true)
  })

  it('makes one in a folder whose own name stands where nothing can be synced', () => {
    const fd = openSync(root, 'r')
    try {
      makeFolder(`/proc/self/fd/${fd}/a/b`)
    } finally {
      closeSync(fd)
    }
    expect(existsSync(join(root, 'a', 'b'))).toBe(true)
  })

  it('takes the top of the file system', () => {
    expect(() => makeFolder('/')).not.toThrow()
  })

  it.each([
    ['is a file', 'file'],
    ['leads through a file', 'file/a/b'],
  ])('refuses a path that %s, and leaves the file', (_, path) => {
    writeFileSync(join(root, 'file'), 'content')
    expect(() => makeFolder(join(root, path))).toThrow(/EEXIST|ENOTDIR/)
    expect(statSync(join(root, 'file')).size).toBe(7)
  })
})

describe('syncing a folder', () => {
  it('takes one that is there and refuses one that is not', () => {
    expect(() => syncFolder(root)).not.toThrow()
    expect(() => syncFolder(join(root, 'nowhere'))).toThrow(/ENOENT/)
  })
})
