/** Remembers the answers for the `limit` inputs used last; the least recently used goes first. */
export function memo<T>(limit: number, compute: (key: string) => T): (key: string) => T {
  const held = new Map<string, T>()
  return (key) => {
    const known = held.get(key)
    const value = known === undefined && !held.has(key) ? compute(key) : (known as T)
    held.delete(key)
    held.set(key, value)
    if (held.size > limit) held.delete(held.keys().next().value as string)
    return value
  }
}
