import { plain, type Stream } from './print.js'

const BIG = 8 * 1024 * 1024
const WIDTH = 30

/** A bar on stderr for big inputs, when stderr is a terminal. */
export function progress(label: string, total: number | null, stream: Stream = process.stderr) {
  let shown = -1
  return {
    update(done: number): void {
      if (stream.isTTY !== true || total === null || total < BIG) return
      const percent = Math.min(100, Math.floor((done / total) * 100))
      if (percent === shown) return
      shown = percent
      const full = Math.round((percent / 100) * WIDTH)
      const bar = `${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}`
      stream.write(`\r${plain(label)} [${bar}] ${String(percent).padStart(3)}%`)
    },
    clear(): void {
      if (shown >= 0) stream.write('\r\u001b[K')
    },
  }
}
