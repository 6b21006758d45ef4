import { type Shape, text } from '../../json/shape.js'

/** One type of journal line: who vouches for it, what it holds, and what of it a viewer may see. */
export type LineType<S extends boolean, T> = {
  /**
   * Lines that change what the gate allows, remembers or tells are signed with the event key: a hash link
   * can be computed by anyone who can write to the file (DESIGN §5).
   */
  readonly signed: S
  readonly says: string
  readonly members: Shape<T>
  /** Public members; all others stay with readers of the files (promise 8). */
  readonly shown: readonly (T extends unknown ? keyof T & string : never)[]
}

export const line = <const S extends boolean, T>(of: LineType<S, T>): LineType<S, T> => of

/** What signing adds to a line. */
export const SIGNATURE = { kid: text, sig: text }
