import { writeSync } from 'node:fs'
import { journalContract } from '../../contract/journal.js'
import { makePlace } from './harness.js'

/** One store as it is used, one that changes segment after almost every line: a short one and its head are 630 bytes. */
for (const [name, segmentBytes] of [
  ['file journal', 64 * 1024 * 1024],
  ['file journal with tiny segments', 700],
] as const) {
  journalContract(name, async () => {
    const place = await makePlace()
    let failing = false
    return {
      open: () =>
        place.open({
          segmentBytes,
          files: {
            write(fd, buffer, start, length) {
              if (!failing) return writeSync(fd, buffer, start, length)
              // Half of it reaches the file before the disk gives up.
              writeSync(fd, buffer, start, Math.floor(length / 2))
              failing = false
              throw Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' })
            },
          },
        }),
      fail: () => {
        failing = true
      },
      clean: place.clean,
    }
  })
}
