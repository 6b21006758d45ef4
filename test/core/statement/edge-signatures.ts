import { createHash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'

/** Signatures on which Ed25519 verifiers of the world disagree, made by a signer who knows the key. */
const { Point } = ed25519
type EdPoint = InstanceType<typeof Point>
const L = Point.Fn.ORDER
const P = Point.Fp.ORDER
const MESSAGE = new TextEncoder().encode('pay 100.00 EUR to order 4711')
const SCALAR = 0x1234567890abcdef1234567890abcdefn

export type EdgeSignature = {
  readonly name: string
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
  readonly signature: Uint8Array
  readonly valid: boolean
}

export function littleEndian(value: bigint): Uint8Array {
  const out = new Uint8Array(32)
  for (let i = 0; i < 32; i++) out[i] = Number((value >> BigInt(8 * i)) & 0xffn)
  return out
}
const number = (bytes: Uint8Array): bigint =>
  bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
const join = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))
const challenge = (r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint =>
  number(createHash('sha512').update(r).update(a).update(message).digest()) % L

/** A generator of the eight-torsion: any point times L, until its order is 8. */
function torsion(): EdPoint {
  for (let y = 2n; ; y++) {
    try {
      const point = Point.fromBytes(littleEndian(y), false)
      const small = point.multiplyUnsafe(L - 1n).add(point)
      if (!small.multiplyUnsafe(4n).is0()) return small
    } catch {}
  }
}
export const T8 = torsion()
export const smallOrderKeys = (): Uint8Array[] =>
  Array.from({ length: 8 }, (_, i) =>
    (i === 0 ? Point.ZERO : T8.multiplyUnsafe(BigInt(i))).toBytes(),
  )

/** y ≥ p, or the sign bit on x = 0: other bytes for the same small-order points. */
export const nonCanonicalKeys = (): Uint8Array[] => {
  const signed = (y: bigint): Uint8Array => littleEndian(y | (1n << 255n))
  return [
    littleEndian(P + 1n),
    signed(P + 1n),
    littleEndian(P),
    signed(P),
    signed(1n),
    signed(P - 1n),
  ]
}

function sign(options: {
  key?: EdPoint
  r?: bigint
  offset?: EdPoint
  message?: Uint8Array
}): EdgeSignature {
  const key = (options.key ?? Point.BASE.multiply(SCALAR)).toBytes()
  const message = options.message ?? MESSAGE
  const r = options.r ?? 0xfeedn
  const base = r === 0n ? Point.ZERO : Point.BASE.multiply(r)
  const R = (options.offset === undefined ? base : base.add(options.offset)).toBytes()
  const s = (r + challenge(R, key, message) * SCALAR) % L
  const signature = join(R, littleEndian(s))
  return { name: '', publicKey: key, message, signature, valid: false }
}

/** A key with a torsion part verifies without cofactor when the challenge is a multiple of eight. */
function mixedOrderKey(): EdgeSignature {
  const key = Point.BASE.multiply(SCALAR).add(T8)
  for (let i = 0; ; i++) {
    const made = sign({ key, message: new TextEncoder().encode(`try ${i}`) })
    if (challenge(made.signature.subarray(0, 32), made.publicKey, made.message) % 8n === 0n)
      return made
  }
}

export function ed25519Edges(): EdgeSignature[] {
  const honest = sign({})
  const s = number(honest.signature.subarray(32))
  const R = honest.signature.subarray(0, 32)
  const anyMessage = (publicKey: Uint8Array, name: string): EdgeSignature => ({
    name,
    publicKey,
    message: MESSAGE,
    signature: join(Point.ZERO.toBytes(), new Uint8Array(32)),
    valid: false,
  })
  const nonCanonicalZero = (r: Uint8Array): EdgeSignature => {
    const key = honest.publicKey
    const scalar = (challenge(r, key, MESSAGE) * SCALAR) % L
    return { ...honest, signature: join(r, littleEndian(scalar)) }
  }
  return [
    { ...honest, name: 'an honest signature', valid: true },
    { ...honest, name: 'S + L', signature: join(R, littleEndian(s + L)) },
    { ...honest, name: 'S = L', signature: join(R, littleEndian(L)) },
    { ...honest, name: 'S of all ones', signature: join(R, new Uint8Array(32).fill(255)) },
    { ...honest, name: 'a truncated signature', signature: honest.signature.subarray(0, 63) },
    {
      ...honest,
      name: 'a signature with a byte more',
      signature: join(honest.signature, R.subarray(0, 1)),
    },
    { ...honest, name: 'a key of 31 bytes', publicKey: honest.publicKey.subarray(0, 31) },
    { ...honest, name: 'a key that is no point', publicKey: littleEndian(2n) },
    { ...honest, name: 'another message', message: MESSAGE.subarray(1) },
    { ...sign({ offset: T8 }), name: 'R with a torsion part' },
    { ...sign({ offset: T8.multiplyUnsafe(4n) }), name: 'R with a part of order two' },
    { ...sign({ r: 0n }), name: 'R = identity under an honest key', valid: true },
    { ...nonCanonicalZero(littleEndian(P + 1n)), name: 'R = identity, y not reduced' },
    { ...nonCanonicalZero(littleEndian(1n | (1n << 255n))), name: 'R = identity, sign bit set' },
    { ...mixedOrderKey(), name: 'a key with a torsion part, challenge ≡ 0 mod 8' },
    ...smallOrderKeys().map((key, i) => anyMessage(key, `small-order key ${i}`)),
    ...nonCanonicalKeys().map((key, i) => anyMessage(key, `non-canonical key ${i}`)),
  ]
}
