import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import {
  errnoOf,
  ifThere,
  ifThereSync,
  isFull,
  isMissing,
  messageOf,
  writeFailure,
} from '../../../src/adapters/disk/errno.js'

const NOWHERE = join(import.meta.dirname, 'no-such-file')
/** A folder, which cannot be read as a file, and a path that goes through a file. */
const FOLDER = import.meta.dirname
const THROUGH_A_FILE = join(import.meta.filename, 'below')

const withCode = (code: unknown): Error => Object.assign(new Error(`said ${code}`), { code })
/** An error whose class is another realm's. */
const fromElsewhere = (code: string): unknown =>
  runInNewContext(`Object.assign(new Error('said ${code}'), { code: '${code}' })`)

describe('what an error says, by its shape', () => {
  it('is read from an error of another realm, which is no Error here', () => {
    const error = fromElsewhere('ENOENT')
    expect(error).not.toBeInstanceOf(Error)
    expect(errnoOf(error)).toBe('ENOENT')
    expect(isMissing(error)).toBe(true)
    expect(messageOf(error)).toBe('said ENOENT')
    expect(isFull(fromElsewhere('ENOSPC'))).toBe(true)
  })

  it.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['text', 'ENOENT'],
    ['a number', 2],
    ['an error without a code', new Error('ENOENT: no such file')],
    ['an error with a number for a code', withCode(2)],
    ['an error whose code is an object', withCode({ toString: () => 'ENOENT' })],
    ['a function with a code', Object.assign(() => undefined, { code: 'ENOENT' })],
  ])('%s has no errno, and is neither missing nor full', (_, thrown) => {
    expect(errnoOf(thrown)).toBeNull()
    expect(isMissing(thrown)).toBe(false)
    expect(isFull(thrown)).toBe(false)
  })

  it.each<[string, unknown, string]>([
    ['an error', new Error('why'), 'why'],
    ['an error without words', new Error(''), ''],
    ['text', 'why', 'why'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
    ['a symbol', Symbol('why'), 'Symbol(why)'],
    ['an object whose message is no text', { message: 7, toString: () => 'why' }, 'why'],
  ])('the message of %s is text', (_, thrown, message) => {
    expect(messageOf(thrown)).toBe(message)
  })
})

describe('a file that is not there', () => {
  it('is null, read at once or later', async () => {
    expect(ifThereSync(() => readFileSync(NOWHERE))).toBeNull()
    expect(await ifThere(readFile(NOWHERE))).toBeNull()
  })

  it('is null where the error comes from another realm', async () => {
    const error = fromElsewhere('ENOENT')
    const thrower = (): never => {
      throw error
    }
    expect(ifThereSync(thrower)).toBeNull()
    expect(await ifThere(Promise.reject(error))).toBeNull()
  })

  it('that is there is what was read, be it empty', async () => {
    expect(ifThereSync(() => '')).toBe('')
    expect(await ifThere(Promise.resolve(0))).toBe(0)
  })

  it.each([
    ['EISDIR', FOLDER],
    ['ENOTDIR', THROUGH_A_FILE],
  ])('is not what %s means: the error itself is thrown', async (code, path) => {
    expect(() => ifThereSync(() => readFileSync(path))).toThrow(expect.objectContaining({ code }))
    await expect(ifThere(readFile(path))).rejects.toMatchObject({ code })
  })

  it.each([[null], [undefined], ['ENOENT']])('is not what a thrown %p means', async (thrown) => {
    const caught = await ifThere(Promise.reject(thrown)).catch((error) => ({ error }))
    expect(caught).toEqual({ error: thrown })
    let seen: unknown = 'nothing was thrown'
    try {
      ifThereSync(() => {
        throw thrown
      })
    } catch (error) {
      seen = error
    }
    expect(seen).toBe(thrown)
  })
})

describe("a disk's refusal", () => {
  it.each(['ENOSPC', 'EDQUOT'])('with %s says that the disk is full, and of which file', (code) => {
    const cause = withCode(code)
    const failure = writeFailure(cause, '/data/reserve')
    expect(isFull(cause)).toBe(true)
    expect(failure).toMatchObject({ code: 'disk_full', file: '/data/reserve', cause })
    expect(failure.message).toBe('the disk is full (/data/reserve)')
  })

  it.each(['EIO', 'EROFS', 'EFBIG'])('with %s is no full disk and repeats its words', (code) => {
    const cause = withCode(code)
    const failure = writeFailure(cause, '/data/journal')
    expect(failure).toMatchObject({ code: 'write_failed', file: '/data/journal', cause })
    expect(failure.message).toContain(`said ${code}`)
  })

  it('from another realm is told the same', () => {
    expect(writeFailure(fromElsewhere('ENOSPC'), 'x')).toMatchObject({ code: 'disk_full' })
    expect(writeFailure(fromElsewhere('EIO'), 'x').message).toContain('said EIO')
  })
})
