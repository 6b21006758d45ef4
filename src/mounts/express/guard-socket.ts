import type { Socket } from 'node:net'

/**
 * Watches the connection while one response has it. Octets that a handler puts on it past the response
 * were not observed: they are not written, and `around` is called. Returns what ends the watch.
 */
export function guardSocket(socket: Socket, isOwn: () => boolean, around: () => void): () => void {
  const watched = (['write', 'end'] as const).map((name) => {
    const before = Object.getOwnPropertyDescriptor(socket, name)
    const original = Reflect.get(socket, name) as (...args: unknown[]) => unknown
    const value = (...args: unknown[]): unknown => {
      // An end without octets is Node's own, when the client has ended its side.
      const says = name === 'write' || (args[0] !== undefined && typeof args[0] !== 'function')
      if (!says || isOwn()) return Reflect.apply(original, socket, args)
      around()
      return name === 'write' ? false : socket
    }
    Object.defineProperty(socket, name, { value, configurable: true, writable: true })
    return { name, before, value }
  })
  return () => {
    for (const { name, before, value } of watched) {
      // Another function was put over ours: it still calls ours, which then passes everything on.
      if (Reflect.get(socket, name) !== value) continue
      if (before === undefined) Reflect.deleteProperty(socket, name)
      else Object.defineProperty(socket, name, before)
    }
  }
}
