import { createHash } from 'node:crypto'
import { join } from 'node:path'
import {
  copyFile,
  createReadStream,
  existsSync,
  mkdir,
  open,
  rename,
  rm,
} from '../../adapters/disk/files.js'
import { lockFolder } from '../../adapters/disk/lock.js'
import { readIndexHeader, VERSION } from '../../adapters/journal/index/index-file.js'
import { indexPath, segmentName, segmentPath } from '../../adapters/journal/segments.js'
import { ifLocked } from '../access/data-folder.js'
import { printResult, UsageError } from '../output/print.js'
import { progress } from '../output/progress.js'
import { ledgerFiles } from './files.js'

type Options = { data: string; to: string; keep: string; json?: boolean }

/**
 * Moves the oldest sealed segments away; their indexes, which repeat the signed seals, stay. A copy
 * is durable and compared before the original goes, so a stop at any moment loses nothing.
 */
export async function archive({ data, to, keep, ...options }: Options): Promise<void> {
  const kept = Number(keep)
  if (!Number.isSafeInteger(kept) || kept < 1) {
    throw new UsageError('--keep: how many of the newest segments stay; the one being written does')
  }
  const { dir } = await ledgerFiles(data)
  const running = 'stop the gate first; it checks old segments while it runs'
  const lock = await lockFolder(dir, 'journal', () => `pid ${process.pid}, archiving`).catch(
    ifLocked(({ message }) => `${message}: ${running}`),
  )
  const moved: string[] = []
  try {
    // Listed again under the lock: a gate may have ended in between.
    const files = await ledgerFiles(data)
    const old = files.numbers.slice(0, -kept)
    const bar = progress('archiving', files.bytes)
    await mkdir(to, { recursive: true, mode: 0o700 })
    for (const number of old) {
      if ((await readIndexHeader(indexPath(dir, number)))?.v !== VERSION) {
        throw new Error(
          `segment ${number} has no index of this version to vouch for it: start the gate once, it makes it`,
        )
      }
      await move(segmentPath(dir, number), join(to, segmentName(number)))
      moved.push(segmentName(number))
      bar.update((moved.length / old.length) * files.bytes)
    }
    bar.clear()
  } finally {
    await lock.release()
  }
  printResult(options, { to, moved }, () =>
    moved.length === 0
      ? 'nothing to archive'
      : `${moved.length} segments moved to ${to}; copy them back to read their lines`,
  )
}

async function move(from: string, to: string): Promise<void> {
  if (existsSync(to)) {
    if ((await digestOf(to)) !== (await digestOf(from))) {
      throw new Error(`${to} is there and is another file: nothing was moved`)
    }
  } else {
    const temporary = `${to}.tmp`
    await copyFile(from, temporary)
    await sync(temporary)
    if ((await digestOf(temporary)) !== (await digestOf(from))) {
      await rm(temporary, { force: true })
      throw new Error(`the copy of ${from} is not like it: nothing was moved`)
    }
    await rename(temporary, to)
    await sync(join(to, '..'))
  }
  await rm(from)
  await sync(join(from, '..'))
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}
