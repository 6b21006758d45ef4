import { watch as watchPaths } from 'chokidar'

/** Editors write in bursts, and a mounted volume swaps links: wait for quiet before reading. */
const QUIET_MS = 200

/**
 * Calls back when something in the folders changed and then stayed still. One call at a time: a change
 * during it leads to one more.
 */
export function watchFolders(
  folders: readonly string[],
  changed: () => Promise<void>,
): { readonly ready: Promise<void>; close(): Promise<void> } {
  let timer: NodeJS.Timeout | null = null
  let running = false
  let again = false
  const run = async (): Promise<void> => {
    if (running) {
      again = true
      return
    }
    running = true
    try {
      await changed()
    } finally {
      running = false
      if (again) {
        again = false
        soon()
      }
    }
  }
  const soon = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => void run(), QUIET_MS)
  }
  const watcher = watchPaths([...folders], { ignoreInitial: true })
  watcher.on('all', soon)
  return {
    ready: new Promise((resolve) => watcher.once('ready', () => resolve())),
    async close() {
      if (timer !== null) clearTimeout(timer)
      await watcher.close()
    },
  }
}
