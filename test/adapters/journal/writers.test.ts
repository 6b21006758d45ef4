import { spawn } from 'node:child_process'
import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { openJournal } from '../../../src/adapters/journal/open.js'
import { missingNetworkNamespaces, needs } from '../../support/needs.js'
import { checkChain, KEYS, makePlace, note, type Place, rawLines } from './harness.js'

let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

const BUILD = pathToFileURL(
  join(import.meta.dirname, '../../../dist/adapters/journal/open.js'),
).href

/** Another process that opens the folder, appends one line, says so, and ends. */
function otherProcess(command: string[]): Promise<{ out: string; pid: number }> {
  const script = `
    const { openJournal } = await import(${JSON.stringify(BUILD)})
    const { sign } = await import('node:crypto')
    const keys = ${JSON.stringify(KEYS.records)}
    const kid = Buffer.from(keys[0].kid, 'hex')
    const key = ${JSON.stringify(KEYS.privatePem)}
    try {
      const journal = await openJournal({ dir: process.argv[1], headFile: null, origin: 'gate-1',
        signer: { kid: () => kid, sign: (_, message) => sign(null, message, key) }, keys,
        clock: Date, reserveBytes: 0 })
      const [line] = await journal.append([{ type: 'OTHER', json: '{}' }])
      process.stdout.write('appended line ' + line.seq)
      await journal.close()
    } catch (error) { process.stdout.write(error.code + ': ' + error.message) }`
  const [program, ...rest] = [...command, process.execPath]
  return new Promise((resolve, reject) => {
    const child = spawn(program as string, [
      ...rest,
      '--input-type=module',
      '-e',
      script,
      place.dir,
    ])
    let out = ''
    child.stdout.on('data', (text) => {
      out += text
    })
    child.stderr.on('data', (text) => {
      out += text
    })
    child.on('error', reject)
    child.on('close', () => resolve({ out, pid: child.pid ?? 0 }))
  })
}

describe('a second writer', () => {
  it('in another process is refused and told who holds the folder', async () => {
    const journal = await place.open()
    const { out } = await otherProcess([])
    expect(out).toContain(`locked: ${place.dir} is held by pid ${process.pid}`)
    expect(out).toContain('epoch 1')
    await journal.append([note(1)])
    expect(journal.health().ok).toBe(true)
  })

  it('by another name of the same folder is refused', async () => {
    await place.open()
    const other = join(place.dir, '..', 'journal', '.')
    await expect(place.open({ dir: other })).rejects.toMatchObject({ code: 'locked' })
  })

  it('may open once the first is closed', async () => {
    const first = await place.open()
    await first.close()
    const { out } = await otherProcess([])
    expect(out).toBe('appended line 1')
  })

  needs(missingNetworkNamespaces()).it(
    'in another network namespace takes over, and the older one stops before it writes',
    async () => {
      const journal = await place.open({ headFile: null })
      await journal.append([note(1)])
      const { out, pid } = await otherProcess(['unshare', '--net'])
      expect(out).toBe('appended line 3')
      const before = await readFile(join(place.dir, '00000001.jsonl'))
      const refused = journal.append([note(2)], { urgent: true })
      await expect(refused).rejects.toMatchObject({ code: 'fenced' })
      await expect(refused).rejects.toThrow(`a newer writer took over: epoch 2, pid ${pid}`)
      await expect(journal.append([note(3)])).rejects.toMatchObject({ code: 'fenced' })
      expect(journal.health().ok).toBe(false)
      expect(await readFile(join(place.dir, '00000001.jsonl'))).toEqual(before)
      checkChain(await rawLines(place.dir))
    },
  )
})

describe('the writer epoch', () => {
  const takeOver = (): Promise<void> =>
    writeFile(join(place.dir, 'epoch'), '{"epoch":7,"pid":1,"host":"other","nonce":"x"}\n')

  it('taken between queueing and writing stops the batch before a byte is written', async () => {
    const journal = await place.open({ seams: { before_write: takeOver } })
    await expect(journal.append([note(1)])).rejects.toThrow(/epoch 7, pid 1 on other/)
    expect(await readFile(join(place.dir, '00000001.jsonl'), 'utf8')).toBe('')
  })

  it('taken while the batch is being synced: it is not acknowledged', async () => {
    const journal = await place.open({ seams: { after_sync: takeOver } })
    await expect(journal.append([note(1)])).rejects.toMatchObject({ code: 'fenced' })
    expect(journal.head().seq).toBe(0)
    expect(place.reports).toMatchObject([{ kind: 'poisoned' }])
  })

  it('taken before a failed batch is taken back: nothing of the newer writer is cut off', async () => {
    const file = join(place.dir, '00000001.jsonl')
    const journal = await place.open({
      files: {
        async sync() {
          await takeOver()
          await appendFile(file, 'the newer writer\n')
          throw new Error('EIO')
        },
      },
    })
    await expect(journal.append([note(1)])).rejects.toMatchObject({ code: 'fenced' })
    expect(await readFile(file, 'utf8')).toContain('the newer writer\n')
  })

  it('taken stops snapshots too', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    await takeOver()
    await expect(journal.writeSnapshot({})).rejects.toMatchObject({ code: 'fenced' })
  })

  it('deleted means that nothing may be written', async () => {
    const journal = await place.open()
    await rm(join(place.dir, 'epoch'))
    await expect(journal.append([note(1)])).rejects.toMatchObject({ code: 'fenced' })
  })

  it('that cannot be read on opening is replaced; numbers go up by one otherwise', async () => {
    for (const expected of [1, 2]) {
      await (await place.open()).close()
      expect(JSON.parse(await readFile(join(place.dir, 'epoch'), 'utf8')).epoch).toBe(expected)
    }
    await writeFile(join(place.dir, 'epoch'), '\0\0')
    await (await place.open()).close()
    expect(JSON.parse(await readFile(join(place.dir, 'epoch'), 'utf8')).epoch).toBe(1)
  })
})

describe('the segment being written', () => {
  const file = (): string => join(place.dir, '00000001.jsonl')
  it.each<[string, () => Promise<void>]>([
    ['appended to by somebody else', () => appendFile(file(), 'x')],
    ['cut by somebody else', () => writeFile(file(), '')],
    ['deleted', () => rm(file())],
    ['moved away', () => rename(file(), join(place.root, 'moved'))],
    [
      'replaced by a copy',
      async () => {
        const bytes = await readFile(file())
        await rename(file(), join(place.root, 'moved'))
        await writeFile(file(), bytes)
      },
    ],
  ])('%s: the writer stops and says so', async (_, interfere) => {
    const journal = await place.open()
    await journal.append([note(1)])
    await interfere()
    await expect(journal.append([note(2)])).rejects.toMatchObject({
      code: 'poisoned',
      file: file(),
    })
    await expect(journal.append([note(3)], { urgent: true })).rejects.toMatchObject({
      code: 'poisoned',
    })
    expect(journal.health()).toMatchObject({ ok: false })
  })
})

describe('time', () => {
  it('never goes back, in lines and in timestamps, across restarts', async () => {
    const times = [5000, 4000, 9000, 1000, 9001]
    let at = 0
    const clock = { now: () => times[Math.min(at++, times.length - 1)] as number }
    let journal = await place.open({ clock })
    for (let n = 1; n <= 3; n++) await journal.append([note(n)])
    await journal.close()
    journal = await place.open({ clock: { now: () => 1 } })
    expect(journal.timestamp()).toBe('1970-01-01T00:00:09.000Z')
    const [line] = await journal.append([note(4)])
    expect(line?.at).toBe('1970-01-01T00:00:09.000Z')
    await journal.close()
    checkChain(await rawLines(place.dir))
  })

  it('given out is never later than the line written after it', async () => {
    let now = 10
    const journal = await place.open({ clock: { now: () => now } })
    const given = journal.timestamp()
    now = 3
    const [line] = await journal.append([note(1)])
    expect(line?.at).toBe(given)
  })
})

describe('opening', () => {
  it.each(['', 'a b', 'x"y', 'é'])('refuses the origin %j', async (origin) => {
    await expect(place.open({ origin })).rejects.toThrow(TypeError)
  })

  it('that fails lets go of the folder', async () => {
    const headFile = join(place.root, 'no', 'such', 'folder')
    await expect(place.open({ headFile })).rejects.toThrow(/ENOENT/)
    const again = await openJournal({
      dir: place.dir,
      headFile: null,
      origin: 'gate-1',
      signer: KEYS.signer,
      keys: [],
      clock: Date,
    })
    await again.close()
  })
})
