import type { Identified } from '../../ports/identity.js'
import type { RequestHead } from './read-request.js'
import type { Incoming } from './read-whole.js'

/** A mount that shares the listener of another: it takes what is under its own paths, and nothing else. */
export type MountBeside = {
  takes(target: string): boolean
  /** Resolves when the exchange is over. Nothing of the body is read yet. */
  serve(head: RequestHead, identified: Identified, incoming: Incoming): Promise<void>
}
