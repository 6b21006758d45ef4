import { randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import type { Clock, Ids, Timer } from '../ports/clock.js'

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() }

/** Longer waits than a host timer can hold end early; whoever waits looks again. */
const LONGEST_MS = 2 ** 31 - 1
export const systemTimer: Timer = {
  after(ms, run) {
    const timeout = setTimeout(run, Math.min(Math.ceil(ms), LONGEST_MS))
    timeout.unref()
    return () => clearTimeout(timeout)
  },
}

const POOL = 4096
/** One system call per page of randomness instead of one per salt. */
function pooledRandom(): (bytes: number) => Uint8Array {
  let pool = randomBytes(POOL)
  let at = 0
  return (bytes) => {
    if (bytes > POOL / 4) return randomBytes(bytes)
    if (at + bytes > POOL) {
      pool = randomBytes(POOL)
      at = 0
    }
    at += bytes
    return pool.subarray(at - bytes, at)
  }
}

/** UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, then 74 random bits. */
export function systemIds(clock: Clock = systemClock): Ids {
  const random = pooledRandom()
  return {
    random,
    actionId() {
      const hex = Buffer.from(random(10)).toString('hex')
      const time = clock.now().toString(16).padStart(12, '0')
      const variant = ((Number.parseInt(hex.charAt(3), 16) & 3) | 8).toString(16)
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`
    },
  }
}
