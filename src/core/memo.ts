/** Computes once for each object, for as long as that lives. */
export function oncePer<K extends object, T>(compute: (key: K) => T): (key: K) => T {
  const held = new WeakMap<K, T>()
  return (key) => {
    let value = held.get(key)
    if (value === undefined) {
      value = compute(key)
      held.set(key, value)
    }
    return value
  }
}

/** Remembers the results for the `limit` inputs used last; the least recently used goes first. */
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
