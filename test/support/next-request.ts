import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** The server's side of the next request's connection, whichever mount takes it. */
export function nextRequest(): Promise<Socket> {
  const channel = 'http.server.request.start'
  return new Promise((resolve) => {
    const seen = (message: unknown): void => {
      unsubscribe(channel, seen)
      resolve((message as { readonly socket: Socket }).socket)
    }
    subscribe(channel, seen)
  })
}
