import { join } from 'node:path'
import { createReadStream, existsSync, open, statSync } from '../../adapters/disk/files.js'
import { type ReadLine, readJournal } from '../../adapters/journal/read/read-journal.js'
import { listSegments, segmentPath } from '../../adapters/journal/segments.js'
import { UsageError } from '../output/print.js'
import { progress } from '../output/progress.js'
import type { Source } from '../verify/input.js'

/** The journal of a data folder as files: read beside the writer, without its lock. */
export type LedgerFiles = Awaited<ReturnType<typeof ledgerFiles>>

export async function ledgerFiles(data: string) {
  const dir = join(data, 'journal')
  if (!existsSync(dir)) throw new UsageError(`there is no journal in ${data} (--data)`)
  const { present, archived } = await listSegments(dir)
  const bytes = present.reduce((sum, number) => sum + statSync(segmentPath(dir, number)).size, 0)
  return { dir, numbers: present, archived: archived.length, bytes }
}

/** Every line, with a bar for a person who waits. */
export async function* readAll(files: LedgerFiles): AsyncGenerator<ReadLine> {
  const bar = progress('reading', files.bytes)
  let done = 0
  try {
    for await (const read of readJournal(files.dir)) {
      done += read.raw.length + 1
      bar.update(done)
      yield read
    }
  } finally {
    bar.clear()
  }
}

/** The same bytes as one stream: segments continue each other's chain. */
export function ledgerSource(files: LedgerFiles): Source {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const number of files.numbers) {
      for await (const chunk of createReadStream(segmentPath(files.dir, number))) {
        yield chunk as Uint8Array
      }
    }
  }
  return { name: files.dir, size: files.bytes, chunks: chunks() }
}

const LF = 10
const START = /^\{"v":[12],"origin":"[^"\\]+","seq":(\d+),"prev":"[0-9a-f]{64}","at":"([^"]+)"/
const FIRST_READ = 64 * 1024

/** The last whole line, found from the end; a torn end is the writer's to mend. */
export async function lastLine(files: LedgerFiles): Promise<{ seq: number; at: string } | null> {
  for (const number of files.numbers.toReversed()) {
    const handle = await open(segmentPath(files.dir, number), 'r')
    try {
      const { size } = await handle.stat()
      for (let room = Math.min(size, FIRST_READ); room > 0; room = Math.min(size, room * 4)) {
        const buffer = Buffer.alloc(room)
        await handle.read(buffer, 0, room, size - room)
        const end = buffer.lastIndexOf(LF)
        const start = end < 1 ? -1 : buffer.lastIndexOf(LF, end - 1)
        if (start < 0 && room < size) continue
        const [, seq, at] = START.exec(buffer.toString('latin1', start + 1, Math.max(end, 0))) ?? []
        if (seq !== undefined && at !== undefined) return { seq: Number(seq), at }
        break
      }
    } finally {
      await handle.close()
    }
  }
  return null
}
