import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync } from '../../adapters/disk/files.js'
import { systemClock, systemIds } from '../../app/clock.js'
import { type Data, openData } from '../../app/data/open.js'
import type { DataPaths } from '../../config/complete.js'
import { loadDataPaths } from '../../config/load.js'
import { GateError } from '../../core/error.js'
import type { Ids } from '../../ports/clock.js'
import { problemsError, UsageError } from '../output/print.js'

/** A gate's data folder and what belongs to it elsewhere. */
export type Folder = { data: string; head: string; masterKey: string }
type Given = { config?: string; data?: string; dir?: string; head?: string; masterKey?: string }

const GATE_FILE = 'gate.yaml'

/**
 * The options of every command that opens a data folder. Before such a command runs, its options hold
 * the folder that `serve` would use: what is named, else what gate.yaml says, else ./data.
 */
export const folderOptions = (command: Command, flag: '--data' | '--dir' = '--data'): Command =>
  command
    .option('--config <file>', `gate.yaml (default: ${GATE_FILE} here, if there is one)`)
    .option(
      `${flag} <directory>`,
      "the gate's data folder (default: data_dir of gate.yaml, or data)",
    )
    .hook('preAction', (_, called) => {
      const { data, ...more } = folderOf(called.opts<Given>())
      const values = { [flag.slice(2)]: data, ...more }
      for (const [name, value] of Object.entries(values)) called.setOptionValue(name, value)
    })

export function folderOf(given: Given): Folder {
  const places = configured(given)
  const data = given.data ?? given.dir ?? places?.data_dir ?? 'data'
  // Another folder than the configured one has a head and keys of its own.
  const own = places !== null && resolve(data) === places.data_dir ? places : null
  return {
    data,
    head: given.head ?? own?.head_file ?? `${data.replace(/\/+$/, '')}.head`,
    masterKey: given.masterKey ?? own?.master_key_file ?? join(data, 'keys', 'evidence.key'),
  }
}

/** For a command that writes into a folder and would make it: a second folder, which no gate reads, is refused. */
export function mayMake(given: Given, folder: string): void {
  if (existsSync(folder)) return
  const places = configured(given)
  if (places === null || `${resolve(folder)}/`.startsWith(`${places.data_dir}/`)) return
  throw new UsageError(
    `${folder} is not there, and ${given.config ?? GATE_FILE} keeps its data in ${places.data_dir}: ` +
      'leave the folder out to use that one, name the gate it is for with --config, or make it first',
  )
}

function configured({ config, data, dir }: Given): DataPaths | null {
  if (config === undefined && !existsSync(GATE_FILE)) return null
  const read = loadDataPaths(config ?? GATE_FILE, process.env)
  if (read.ok) return read.places
  // A folder that is named needs no gate.yaml that merely happens to be here.
  if (config === undefined && (data ?? dir) !== undefined) return null
  throw problemsError(read.problems)
}

/** For `catch`: says in the command's own words that a running gate holds the lock. */
export const ifLocked =
  (describe: (error: Error) => string) =>
  (error: unknown): never => {
    const isOurs = error instanceof GateError
    throw isOurs && error.code === 'locked' ? new Error(describe(error)) : error
  }

export type OpenedFolder = Data & { crypto: typeof nodeCrypto; ids: Ids }

/** The data folder of a stopped gate, opened and closed again; `wayOut` is for one that is running. */
export async function withData<T>(
  { data: dir, head: headFile, masterKey: masterKeyFile }: Folder,
  wayOut: string,
  run: (data: OpenedFolder) => Promise<T>,
): Promise<T> {
  if (!existsSync(join(dir, 'keys'))) {
    throw new UsageError(`${dir} is not a gate's data folder (--data)`)
  }
  const data = await openData({
    dir,
    headFile,
    masterKeyFile,
    segmentBytes: 64 * 1024 * 1024,
    snapshotEvery: Number.POSITIVE_INFINITY,
    idempotencyTtlSeconds: 86_400,
    clock: systemClock,
    report: ({ kind }) => process.stderr.write(`journal: ${kind}\n`),
  }).catch(ifLocked(() => `a gate is running on ${dir}: ${wayOut}`))
  try {
    return await run({ ...data, crypto: nodeCrypto, ids: systemIds(systemClock) })
  } finally {
    await data.close()
  }
}
