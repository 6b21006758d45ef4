import { appendFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type ReadLine, readJournal } from '../../../src/adapters/journal/read/read-journal.js'
import { makePlace, note, type Place, rawLines } from './harness.js'

let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

async function readAll(): Promise<ReadLine[]> {
  const lines: ReadLine[] = []
  for await (const line of readJournal(place.dir)) lines.push(line)
  return lines
}

describe('a reader beside the writer', () => {
  it('sees every line of every segment with its exact bytes, file and number', async () => {
    const journal = await place.open({ segmentBytes: 900 })
    for (let n = 1; n <= 10; n++) await journal.append([note(n)])
    const lines = await readAll()
    const raw = lines.map((line) => Buffer.from(line.raw).toString())
    expect(raw).toEqual(await rawLines(place.dir))
    expect(lines.map(({ line }) => line.seq)).toEqual(lines.map((_, i) => i + 1))
    expect(lines.find(({ file }) => file.endsWith('00000002.jsonl'))?.lineNo).toBe(1)
  })

  it('reads lines longer than what is read at once', async () => {
    const journal = await place.open()
    await journal.append([note(1, 300_000), note(2), note(3, 1_500_000), note(4)])
    const lines = await readAll()
    expect(lines.map(({ line }) => line.n)).toEqual([1, 2, 3, 4, undefined])
    expect(lines.at(-1)?.line.type).toBe('HEAD')
  })

  it('leaves out a line that is not whole yet', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    await appendFile(join(place.dir, '00000001.jsonl'), '{"v":2,')
    expect(await readAll()).toHaveLength(2)
  })

  it('names file and line of what is not JSON', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    await journal.close()
    await appendFile(join(place.dir, '00000001.jsonl'), 'rubbish\n')
    await expect(readAll()).rejects.toMatchObject({ code: 'damaged', line: 3 })
  })

  it('follows across segments until told to stop', async () => {
    const journal = await place.open({ segmentBytes: 700 })
    await journal.append([note(1)])
    const stop = new AbortController()
    const seen: unknown[] = []
    for await (const { line } of readJournal(place.dir, { follow: { signal: stop.signal } })) {
      if (line.type !== 'NOTE') continue
      seen.push(line.n)
      if (seen.length === 12) stop.abort()
      // Each line is written only after the one before it was seen: nothing here was there at the start.
      else await journal.append([note(seen.length + 1)])
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })

  it('that waits ends when told to stop', async () => {
    await place.open()
    const stop = new AbortController()
    const reading = readJournal(place.dir, { follow: { signal: stop.signal } }).next()
    stop.abort()
    expect(await reading).toEqual({ done: true, value: undefined })
  })

  it('is told when a line it was shown was taken back', async () => {
    const journal = await place.open()
    await journal.append([note(1)])
    await journal.close()
    const stop = new AbortController()
    const reading = readJournal(place.dir, { follow: { signal: stop.signal } })
    for (const type of ['NOTE', 'HEAD']) {
      expect((await reading.next()).value?.line.type).toBe(type)
    }
    await truncate(join(place.dir, '00000001.jsonl'), 0)
    await writeFile(join(place.dir, 'touch'), '')
    await expect(reading.next()).rejects.toMatchObject({ code: 'rolled_back' })
  })
})
