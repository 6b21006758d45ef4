import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { readSignedHead } from '../../../src/core/journal/head.js'
import { headsIn } from '../../../src/core/verify/journal/given-head.js'
import { eventKeys, KEYS, makePlace, note, type Place } from './harness.js'

/** The second place for the newest head: what it must say for a journal to start. */
let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place.clean())

const refused = (code: string) => expect.objectContaining({ code })

async function filled(): Promise<void> {
  const journal = await place.open()
  await journal.append([note(1)])
  await journal.append([note(2)])
  await journal.close()
  place.reports.length = 0
}

describe('the second head', () => {
  it('is signed, and names the last line that a head covers', async () => {
    await filled()
    const kept = headsIn(readFileSync(place.headFile, 'utf8'))
    const newest = kept.map((head) => readSignedHead(head, KEYS.records, nodeCrypto))
    expect(newest.map((head) => head.ok && head.head.upto).sort()).toEqual([1, 3])
  })

  it('stands there before the first line does', async () => {
    const journal = await place.open()
    const [head] = headsIn(readFileSync(place.headFile, 'utf8'))
    expect(head).toMatchObject({ origin: 'gate-1', upto: 0, lines: 0, capsules: 0 })
    await journal.close()
    await (await place.open()).close()
    rmSync(place.headFile)
    // Without a line nothing can be missing.
    await (await place.open()).close()
  })

  it.each(['removed', 'emptied'])('%s refuses the start unless that is accepted', async (how) => {
    await filled()
    if (how === 'removed') rmSync(place.headFile)
    else writeFileSync(place.headFile, '')
    await expect(place.open()).rejects.toEqual(refused('head_missing'))
    await expect(place.open()).rejects.toThrow('--accept-missing-head')
    const journal = await place.open({ acceptMissingHead: true })
    expect(place.reports).toContainEqual({ kind: 'head_file_missing', file: place.headFile })
    await journal.close()
    // A new one was made: the next start needs no such word.
    place.reports.length = 0
    await (await place.open()).close()
    expect(place.reports).toEqual([])
  })

  it('that cannot be read, or that another key signed, refuses even when a missing one is accepted', async () => {
    await filled()
    const good = readFileSync(place.headFile)
    writeFileSync(place.headFile, 'nothing of a head')
    await expect(place.open({ acceptMissingHead: true })).rejects.toEqual(refused('head_file'))
    rmSync(place.headFile)
    const other = await makePlace()
    const { signer, records } = eventKeys()
    const foreign = await other.open({ signer, keys: records })
    await foreign.append([note(1)])
    await foreign.close()
    copyFileSync(other.headFile, place.headFile)
    await expect(place.open({ acceptMissingHead: true })).rejects.toEqual(refused('head_file'))
    await other.clean()
    writeFileSync(place.headFile, good)
    await (await place.open()).close()
  })

  it('of another journal refuses the start', async () => {
    await filled()
    const other = await makePlace()
    const foreign = await other.open({ origin: 'gate-2' })
    await foreign.append([note(1)])
    await foreign.close()
    copyFileSync(other.headFile, place.headFile)
    await expect(place.open()).rejects.toEqual(refused('foreign_origin'))
    await other.clean()
  })

  it('ahead of the journal refuses the start: lines were cut off', async () => {
    await filled()
    const file = `${place.dir}/00000001.jsonl`
    const [first, head] = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, `${first}\n${head}\n`)
    await expect(place.open()).rejects.toEqual(refused('behind'))
    await expect(place.open({ acceptMissingHead: true })).rejects.toEqual(refused('behind'))
  })

  it('older than the journal is told: a power loss, or one that was put back', async () => {
    await filled()
    const older = readFileSync(place.headFile)
    const journal = await place.open()
    await journal.append([note(3)])
    await journal.close()
    writeFileSync(place.headFile, older)
    place.reports.length = 0
    await (await place.open()).close()
    const { headFile: file } = place
    expect(place.reports).toEqual([{ kind: 'head_file_behind', file, upto: 3, newest: 5 }])
  })
})
