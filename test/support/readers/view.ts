import type { RawRequest } from './request.js'
import type { Tree } from './tree.js'

/** What one framework makes of a request: what it runs, and what its handlers find. */
export type View = {
  readonly method: string
  /** Path segments, decoded, after whatever the container cuts off. */
  readonly segments: readonly string[]
  readonly bags: readonly Bag[]
  /** Octets that the server will take for a further request on the same connection. */
  readonly next?: Uint8Array
}
/** One object that handlers read arguments from: `req.query`, `$_REQUEST`, `params`. */
export type Bag = {
  readonly name: string
  readonly from: 'query' | 'body' | 'both'
  readonly values: Tree
}
/** How a literal of a route is compared with a segment of the path. */
export type Literal = (literal: string, segment: string, last: boolean) => boolean

export type Reader = {
  readonly name: string
  /** Null: it answers 400 by itself, and no handler runs. */
  read(request: RawRequest, rule: ReadingRule): View | null
  readonly literal: Literal
}
/** What an application's handler for a rule does with the body. */
export type ReadingRule = { readonly readsBody: boolean }

export const exactly: Literal = (literal, segment) => literal === segment
export const anyCase: Literal = (literal, segment) =>
  literal.toLowerCase() === segment.toLowerCase()

export const segmentsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((segment) => {
      try {
        return decodeURIComponent(segment)
      } catch {
        return segment
      }
    })
