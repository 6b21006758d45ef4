/** A message that waits for its turn on the pipe. */
export type Letter = {
  readonly octets: Uint8Array
  /** Asked just before the first octet leaves; false: it does not leave. */
  mayLeave(): boolean
  /** Told what is handed to the pipe, without the LF behind it. */
  wrote?(octets: Uint8Array): void
  /** The pipe has taken all of it; false: it broke, and how much it took is not known. */
  left(whole: boolean): void
}

/**
 * One message at a time: the next is begun when the pipe has taken all of the one before. So nothing lies in a buffer
 * between the last check and the pipe, and a process that does not read holds up no more than itself. Behind a pipe
 * that broke nothing leaves.
 */
export function createOutbox(write: (line: Uint8Array, done: (whole: boolean) => void) => void) {
  const waiting: Letter[] = []
  let busy = false

  const next = (): void => {
    while (!busy) {
      const letter = waiting.shift()
      if (letter === undefined) return
      if (!letter.mayLeave()) continue
      busy = true
      const line = asLine(letter.octets)
      letter.wrote?.(line.subarray(0, letter.octets.length))
      write(line, (whole) => {
        letter.left(whole)
        if (!whole) return
        busy = false
        next()
      })
    }
  }
  return {
    put(letter: Letter): void {
      waiting.push(letter)
      next()
    },
    remove(letter: Letter): void {
      const at = waiting.indexOf(letter)
      if (at !== -1) waiting.splice(at, 1)
    },
    clear(): void {
      waiting.length = 0
    },
  }
}

const LF = 0x0a
function asLine(octets: Uint8Array): Uint8Array {
  const line = Buffer.allocUnsafe(octets.length + 1)
  line.set(octets)
  line[octets.length] = LF
  return line
}

/** One line and no other: an LF within would end it and begin another message. */
export const isOneLine = (octets: Uint8Array): boolean => !octets.includes(LF)
