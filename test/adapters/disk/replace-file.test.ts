import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createFileSync,
  removeFileSync,
  replaceFile,
  replaceFileSync,
} from '../../../src/adapters/disk/replace-file.js'

/** What of it a power loss leaves: power-loss.test.ts. */
const DIST = new URL('../../../dist/adapters/disk/replace-file.js', import.meta.url).href
let dir: string
let path: string
let umask: number
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-replace-'))
  path = join(dir, 'file')
  umask = process.umask(0)
})
afterEach(() => {
  process.umask(umask)
  rmSync(dir, { recursive: true })
})
const modeOf = (file: string): number => statSync(file).mode & 0o777
const text = (file = path): string => readFileSync(file, 'utf8')

type Replace = (file: string, content: Uint8Array | string, before?: () => void) => Promise<void>
const WAYS: [string, Replace][] = [
  ['later', replaceFile],
  ['at once', async (file, content, before) => replaceFileSync(file, content, undefined, before)],
]

describe.each(WAYS)('replacing a file %s', (_, replace) => {
  it('has the new content under the name, private, and nothing beside it', async () => {
    await replace(path, 'first')
    expect([text(), modeOf(path)]).toEqual(['first', 0o600])
    await replace(path, Uint8Array.of(0, 255, 10))
    expect([...readFileSync(path)]).toEqual([0, 255, 10])
    await replace(path, '')
    expect([text(), readdirSync(dir)]).toEqual(['', ['file']])
  })

  it('leaves what was read before as it was: who has the old file open reads the old one', async () => {
    await replace(path, 'old')
    linkSync(path, join(dir, 'kept'))
    await replace(path, 'new')
    expect([text(), text(join(dir, 'kept'))]).toEqual(['new', 'old'])
  })

  it('shows the old content until the name moves, with the new one whole beside it', async () => {
    await replace(path, 'old')
    let seen: string[] = []
    await replace(path, 'new', () => {
      seen = [text(), ...readdirSync(dir)]
    })
    expect(seen).toEqual(['old', 'file', 'file.tmp'])
    expect(text()).toBe('new')
  })

  it('that fails before the name moves leaves the old content and nothing beside it', async () => {
    const failure = new Error('as a seam throws it')
    const failing = (): never => {
      throw failure
    }
    await expect(replace(path, 'new', failing)).rejects.toBe(failure)
    expect(readdirSync(dir)).toEqual([])
    await replace(path, 'old')
    await expect(replace(path, 'new', failing)).rejects.toBe(failure)
    expect([text(), readdirSync(dir)]).toEqual(['old', ['file']])
    await replace(path, 'newest')
    expect(text()).toBe('newest')
  })

  it('that fails to move the name leaves what stood there and nothing beside it', async () => {
    mkdirSync(path)
    await expect(replace(path, 'new')).rejects.toMatchObject({ code: 'EISDIR' })
    expect(readdirSync(dir)).toEqual(['file'])
  })

  it('in a folder that is not there fails and makes none', async () => {
    const nowhere = join(dir, 'nowhere')
    await expect(replace(join(nowhere, 'file'), 'new')).rejects.toMatchObject({ code: 'ENOENT' })
    expect(existsSync(nowhere)).toBe(false)
  })

  it('uses nothing of a temporary file that was left: not its content, not its mode', async () => {
    writeFileSync(`${path}.tmp`, 'left by a process that was killed')
    chmodSync(`${path}.tmp`, 0o666)
    await replace(path, 'new')
    expect([text(), modeOf(path), readdirSync(dir)]).toEqual(['new', 0o600, ['file']])
  })

  it('does not write through a link that stands in the place of its temporary file', async () => {
    writeFileSync(join(dir, 'other'), 'not ours')
    symlinkSync(join(dir, 'other'), `${path}.tmp`)
    await replace(path, 'new')
    expect([text(), text(join(dir, 'other'))]).toEqual(['new', 'not ours'])
    expect(readdirSync(dir)).toEqual(['file', 'other'])
  })

  it('puts a file in the place of a link, and leaves what the link named', async () => {
    writeFileSync(join(dir, 'other'), 'not ours')
    symlinkSync(join(dir, 'other'), path)
    await replace(path, 'new')
    expect([text(), text(join(dir, 'other'))]).toEqual(['new', 'not ours'])
  })
})

describe('replacing a file at once', () => {
  it('has the mode asked for, whatever the old file or one that was left has', () => {
    writeFileSync(path, 'old', { mode: 0o600 })
    writeFileSync(`${path}.tmp`, 'left', { mode: 0o600 })
    replaceFileSync(path, 'public', 0o644)
    expect(modeOf(path)).toBe(0o644)
    replaceFileSync(path, 'private again')
    expect(modeOf(path)).toBe(0o600)
  })
})

describe('making a file once', () => {
  it('makes it whole and private, with nothing beside it', () => {
    createFileSync(path, 'secret')
    expect([text(), modeOf(path), readdirSync(dir)]).toEqual(['secret', 0o600, ['file']])
    // The name is its only one: a second would keep the content when it is destroyed.
    expect(statSync(path).nlink).toBe(1)
  })

  it.each<[string, () => void]>([
    ['a file', () => writeFileSync(path, 'old')],
    ['an empty file', () => writeFileSync(path, '')],
    ['a folder', () => mkdirSync(path)],
    ['a link to nowhere', () => symlinkSync(join(dir, 'nowhere'), path)],
  ])('never replaces %s, and leaves nothing beside it', (_, make) => {
    make()
    const before = existsSync(path) && statSync(path).isFile() ? text() : null
    expect(() => createFileSync(path, 'new')).toThrow(expect.objectContaining({ code: 'EEXIST' }))
    expect(readdirSync(dir)).toEqual(['file'])
    expect(existsSync(path) && statSync(path).isFile() ? text() : null).toBe(before)
  })

  it('is not stopped by temporary files of processes that were killed', () => {
    writeFileSync(`${path}.tmp`, 'left')
    writeFileSync(`${path}.0123456789ab.tmp`, 'left')
    createFileSync(path, 'secret')
    expect(text()).toBe('secret')
    expect(readdirSync(dir)).toHaveLength(3)
  })

  it('in a folder that is not there fails', () => {
    expect(() => createFileSync(join(dir, 'nowhere', 'file'), 'x')).toThrow(/ENOENT/)
  })

  it('of processes at once one makes it, and those refused find it whole', async () => {
    const [letters, files, size] = [['a', 'b', 'c', 'd'], 40, 1024 * 1024]
    // For each file all are told to begin; who is refused looks at once at what there is.
    const script = `
      const { createFileSync } = await import(${JSON.stringify(DIST)})
      const { readFileSync } = await import('node:fs')
      const letter = process.argv[1]
      const attempt = (path) => {
        try {
          createFileSync(path, letter.repeat(${size}))
          return 'made'
        } catch (error) {
          const found = readFileSync(path, 'latin1')
          const isWhole = found !== '' && found === found[0].repeat(${size})
          return error.code + (isWhole ? ', whole' : ', not whole')
        }
      }
      process.on('message', (path) => process.send(attempt(path)))
      process.send('ready')`
    const others = letters.map((letter) => {
      const args = ['--input-type=module', '-e', script, letter]
      const child = spawn(process.execPath, args, {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      return { child, heard: once(child, 'message') }
    })
    for (const { heard } of others) expect(await heard).toContain('ready')
    for (let nth = 0; nth < files; nth++) {
      const made = join(dir, `made-${nth}`)
      const outcomes = await Promise.all(
        others.map(async ({ child }) => {
          const heard = once(child, 'message')
          child.send(made)
          return (await heard)[0] as string
        }),
      )
      expect([...outcomes].sort()).toEqual([...Array(3).fill('EEXIST, whole'), 'made'])
      expect(text(made) === letters[outcomes.indexOf('made')]?.repeat(size)).toBe(true)
    }
    const ended = others.map(({ child }) => once(child, 'exit'))
    for (const { child } of others) child.disconnect()
    expect(await Promise.all(ended)).toEqual(Array(4).fill([0, null]))
    expect(readdirSync(dir)).toHaveLength(files)
  })
})

describe('removing a file', () => {
  it('takes the name, and one that is not there is an error', () => {
    writeFileSync(path, 'content')
    removeFileSync(path)
    expect(readdirSync(dir)).toEqual([])
    expect(() => removeFileSync(path)).toThrow(/ENOENT/)
  })
})
