import { createHash, hash } from 'node:crypto'
import type { DispatchOrder, OctetsDigest } from '../../ports/dispatch.js'

type Salted = DispatchOrder['saltedDigest']

function plainDigest(): OctetsDigest {
  const sha256 = createHash('sha256')
  return { update: (octets) => void sha256.update(octets), digest: () => sha256.digest('hex') }
}

/**
 * The octets of one body as they pass: digested always, and at once, because whoever wrote them may
 * use their memory again; kept only while they may still be a JSON document small enough to be read
 * (DESIGN §3, Release).
 */
export class ResponseBody {
  readonly #salted: Salted
  readonly #declared: number | null
  readonly #limit: number
  #digest: OctetsDigest | null = null
  /** Most bodies come in one piece: digested in one call, that costs a third. */
  #whole: string | null = null
  #held: Uint8Array[] | null
  #length = 0

  /** A salted digest is an HMAC: a short body cannot be guessed from it. */
  constructor(options: { salted: Salted; hold: number; declared?: number | null }) {
    this.#salted = options.salted
    this.#declared = options.declared ?? null
    this.#limit = options.hold
    this.#held = options.hold > 0 ? [] : null
  }

  /** Never more octets in all than were declared. */
  push(piece: Uint8Array): void {
    this.#length += piece.length
    if (this.#salted === null && piece.length === this.#declared) {
      this.#whole = hash('sha256', piece, 'hex')
    } else {
      this.#digest ??= this.#begun()
      this.#digest.update(piece)
    }
    if (this.#held === null) return
    if (this.#length > this.#limit) this.#held = null
    else this.#held.push(piece)
  }

  #begun(): OctetsDigest {
    return this.#salted === null ? plainDigest() : this.#salted()
  }

  /** Once, at the end or at the cut. */
  seal(): { digest: string; length: number; held: Uint8Array | null } {
    const digest = this.#whole ?? (this.#digest ?? this.#begun()).digest()
    return { digest, length: this.#length, held: this.#kept() }
  }

  #kept(): Uint8Array | null {
    if (this.#held === null) return null
    const [only] = this.#held
    return this.#held.length === 1 && only !== undefined ? only : Buffer.concat(this.#held)
  }
}
