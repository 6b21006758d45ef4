import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../adapters/crypto-node.js'
import { EvidenceError } from '../adapters/evidence/error.js'
import { JournalError } from '../adapters/journal/error.js'
import { systemClock } from '../config/clock.js'
import { type Data, openData } from '../config/data.js'
import { UsageError } from './output.js'

export type Folder = { data: string; head?: string; masterKey?: string }

/** The data folder of a stopped gate, opened and closed again; `wayOut` is for one that is running. */
export async function withData<T>(
  folder: Folder,
  wayOut: string,
  run: (data: Data & { crypto: typeof nodeCrypto }) => Promise<T>,
): Promise<T> {
  if (!existsSync(join(folder.data, 'keys'))) {
    throw new UsageError(`${folder.data} is not a gate's data folder (--data)`)
  }
  try {
    const data = await openData({
      dir: folder.data,
      headFile: folder.head ?? `${folder.data.replace(/\/+$/, '')}.head`,
      segmentBytes: 64 * 1024 * 1024,
      snapshotEvery: Number.POSITIVE_INFINITY,
      idempotencyTtlSeconds: 86_400,
      clock: systemClock,
      report: ({ kind }) => process.stderr.write(`journal: ${kind}\n`),
      ...(folder.masterKey === undefined ? {} : { masterKeyFile: folder.masterKey }),
    })
    try {
      return await run({ ...data, crypto: nodeCrypto })
    } finally {
      await data.close()
    }
  } catch (error) {
    const held = error instanceof JournalError || error instanceof EvidenceError
    if (!held || error.code !== 'locked') throw error
    throw new Error(`a gate is running on ${folder.data}: ${wayOut}`)
  }
}
