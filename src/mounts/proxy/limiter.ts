import { isIPv6 } from 'node:net'
import type { Dropped } from '../../gate/operate/dropped.js'

export type LimiterOptions = {
  readonly maxRefusals: number
  readonly windowSeconds: number
  readonly record: (dropped: Dropped) => Promise<void>
  readonly failed: (error: unknown) => void
}

/** More sources than this in one window share one entry: memory stays bounded under a flood. */
const MAX_SOURCES = 65_536
const OTHERS = '*'

/**
 * Refusals of unknown callers cost a capsule each. Above the limit per source they cost nothing: the
 * socket is closed, and the window ends with one counted event (DESIGN §7).
 */
export function createLimiter(options: LimiterOptions) {
  let sources = new Map<string, { refused: number; dropped: number }>()

  const of = (source: string): { refused: number; dropped: number } => {
    const network = networkOf(source)
    const key = sources.has(network) || sources.size < MAX_SOURCES ? network : OTHERS
    const known = sources.get(key)
    if (known !== undefined) return known
    const fresh = { refused: 0, dropped: 0 }
    sources.set(key, fresh)
    return fresh
  }

  const endWindow = async (): Promise<void> => {
    const ended = sources
    sources = new Map()
    for (const [source, { dropped }] of ended) {
      if (dropped === 0) continue
      await options.record({ source, count: dropped, windowSeconds: options.windowSeconds })
    }
  }
  const timer = setInterval(() => {
    endWindow().catch(options.failed)
  }, options.windowSeconds * 1000).unref()

  return {
    /** A caller without identity was refused. */
    refused(source: string): void {
      of(source).refused++
    },
    isOver(source: string): boolean {
      if (sources.size === 0) return false
      const known = sources.get(networkOf(source)) ?? sources.get(OTHERS)
      return known !== undefined && known.refused >= options.maxRefusals
    },
    /** A connection was closed unanswered. */
    dropped(source: string): void {
      of(source).dropped++
    },
    /** Ends the window now. */
    async close(): Promise<void> {
      clearInterval(timer)
      await endWindow()
    },
  }
}

/** One host owns a whole /64; an IPv4 address may come mapped into IPv6. */
export function networkOf(source: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(source)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(source)) return source
  const [before = '', after] = source.split('%')[0]?.toLowerCase().split('::') ?? []
  const head = before === '' ? [] : before.split(':')
  const tail = after === undefined || after === '' ? [] : after.split(':')
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...tail]
  return `${groups.slice(0, 4).join(':')}::/64`
}
