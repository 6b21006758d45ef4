import type { Hashing } from '../crypto/crypto.js'
import { bytesDigest } from '../json/build.js'

/** The digest of octets as they pass; `digest` is called once, at the end. */
export type OctetsDigest = {
  update(octets: Uint8Array): void
  /** Lowercase hex. */
  digest(): string
}
/** SHA-256 of a whole, and of octets as they pass. */
export type OctetsHashing = Hashing & { beginSha256(): OctetsDigest }

export type BodyOptions = {
  readonly hashing: OctetsHashing
  /** An HMAC, so that a short body cannot be guessed from its digest; null is SHA-256. */
  readonly salted: (() => OctetsDigest) | null
  /** Up to this many octets are kept; a longer body is digested alone. */
  readonly hold: number
  readonly declared: number | null
}
export type FinishedBody = {
  readonly digest: string
  readonly length: number
  readonly held: Uint8Array | null
}

/**
 * The octets of one body as they pass. Digested at once, because their writer may use the memory again;
 * kept only while they may still be a JSON document small enough to be read (DESIGN §3, Release).
 */
export class ResponseBody {
  readonly #options: BodyOptions
  #digest: OctetsDigest | null = null
  /** Most bodies come in one piece: digested in one call, that costs a third. */
  #whole: string | null = null
  #held: Uint8Array[] | null
  #length = 0

  constructor(options: BodyOptions) {
    this.#options = options
    this.#held = options.hold > 0 ? [] : null
  }

  /** Never more octets in all than were declared. */
  push(piece: Uint8Array): void {
    const { hashing, salted, hold, declared } = this.#options
    this.#length += piece.length
    if (salted === null && piece.length === declared) {
      this.#whole = bytesDigest(piece, hashing)
    } else {
      this.#digest ??= this.#begin()
      this.#digest.update(piece)
    }
    if (this.#held === null) return
    if (this.#length > hold) this.#held = null
    else this.#held.push(piece)
  }

  #begin(): OctetsDigest {
    return this.#options.salted?.() ?? this.#options.hashing.beginSha256()
  }

  /** Once, at the end or at the cut. */
  finish(): FinishedBody {
    const digest = this.#whole ?? (this.#digest ?? this.#begin()).digest()
    return { digest, length: this.#length, held: this.#joined() }
  }

  #joined(): Uint8Array | null {
    if (this.#held === null) return null
    const [only] = this.#held
    if (this.#held.length === 1 && only !== undefined) return only
    const all = new Uint8Array(this.#length)
    let at = 0
    for (const piece of this.#held) {
      all.set(piece, at)
      at += piece.length
    }
    return all
  }
}
