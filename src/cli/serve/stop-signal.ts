import { EXIT } from '../output/print.js'

/** Resolves at the first signal; the second one exits at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    const stop = (): void => {
      if (asked) process.exit(EXIT.failed)
      asked = true
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
