import type { Clock } from '../../ports/clock.js'

/** Lets each name pass so many times in a window, which begins with its first time. */
export function perWindow(
  most: number,
  windowMs: number,
  { monotonic }: Pick<Clock, 'monotonic'>,
): (name: string) => boolean {
  const windows = new Map<string, { readonly since: number; count: number }>()
  return (name) => {
    const now = monotonic()
    const open = windows.get(name)
    if (open !== undefined && now - open.since < windowMs) return ++open.count <= most
    windows.set(name, { since: now, count: 1 })
    return true
  }
}
