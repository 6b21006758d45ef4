import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'

/**
 * The octets of one body as they pass: digested always, kept only while they may still be a JSON
 * document small enough to be read (DESIGN §3, Release).
 */
export class ResponseBody {
  readonly #digest: Hash | Hmac
  readonly #limit: number
  #held: Uint8Array[] | null
  #length = 0

  /** With a salt the digest is HMAC-SHA-256 under it: a short body cannot be guessed from it. */
  constructor(options: { salt: Uint8Array | null; hold: number }) {
    this.#digest = options.salt === null ? createHash('sha256') : createHmac('sha256', options.salt)
    this.#limit = options.hold
    this.#held = options.hold > 0 ? [] : null
  }

  push(piece: Uint8Array): void {
    this.#length += piece.length
    this.#digest.update(piece)
    if (this.#held === null) return
    if (this.#length > this.#limit) this.#held = null
    else this.#held.push(piece)
  }

  /** Once, at the end or at the cut. */
  seal(): { digest: string; length: number; held: Uint8Array | null } {
    const [only] = this.#held ?? []
    const held =
      this.#held === null
        ? null
        : this.#held.length === 1 && only !== undefined
          ? only
          : Buffer.concat(this.#held)
    return { digest: this.#digest.digest('hex'), length: this.#length, held }
  }
}
