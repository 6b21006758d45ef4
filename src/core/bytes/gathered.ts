const NONE = new Uint8Array(0)
const FIRST = 256

/** Octets as they come in pieces. One piece for each octet costs no more memory than all of them at once. */
export class Gathered {
  #octets: Uint8Array = NONE
  #length = 0

  get length(): number {
    return this.#length
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length
    if (length > this.#octets.length) {
      const wider = new Uint8Array(Math.max(FIRST, length, this.#octets.length * 2))
      wider.set(this.#octets.subarray(0, this.#length))
      this.#octets = wider
    }
    this.#octets.set(piece, this.#length)
    this.#length = length
  }

  /** Hands over what was gathered, and begins anew. */
  take(): Uint8Array {
    const taken = this.#octets.subarray(0, this.#length)
    this.#octets = NONE
    this.#length = 0
    return taken
  }
}
