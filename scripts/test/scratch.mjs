/** Where the tests of one run keep their files: in memory where there is room, as most of what they wait for is a sync. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** A container has 64 MB there by default; a run has taken less than 1 GB. */
const ROOM_BYTES = 2 * 1024 ** 3

export function makeScratch() {
  // Ctrl-C ends jest, which gets it too; the folder is removed then.
  process.once('SIGINT', () => {})
  const folder = mkdtempSync(join(hasRoom(MEMORY) ? MEMORY : tmpdir(), 'gate-test-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}
