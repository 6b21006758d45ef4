import { SECTION_NAMES } from './model.js'

/** `capsule://…`, as the vectors of the URI scheme have it. */
export type CapsuleUri = {
  readonly scheme: 'capsule'
  readonly chain: string | null
  readonly reference_type: 'hash' | 'sequence' | 'id'
  readonly hash_algorithm: 'sha3' | null
  readonly hash_value: string | null
  readonly sequence: number | null
  readonly id: string | null
  readonly fragment: string | null
}

const URI = /^capsule:\/\/(?:([A-Za-z0-9._-]+)\/)?([A-Za-z0-9_-]+)(?:#(.+))?$/
const HASH = /^sha3_([0-9a-f]{64})$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const SEQUENCE = /^(?:0|[1-9][0-9]{0,15})$/
const STEP = /^[A-Za-z0-9_-]+$/

/** Null: it is no reference to a capsule. The grammar of the scheme's text differs from its vectors, which hold. */
export function parseCapsuleUri(uri: string): CapsuleUri | null {
  const match = typeof uri === 'string' ? URI.exec(uri) : null
  if (match === null) return null
  const [, chain = null, reference = '', fragment = null] = match
  if (fragment !== null && !isPath(fragment)) return null
  const common = { scheme: 'capsule', chain, fragment } as const
  const hash = HASH.exec(reference)?.[1]
  if (hash !== undefined) {
    const of = { hash_algorithm: 'sha3', hash_value: hash, sequence: null, id: null } as const
    return { ...common, reference_type: 'hash', ...of }
  }
  const none = { hash_algorithm: null, hash_value: null } as const
  if (chain !== null) {
    const sequence = SEQUENCE.test(reference) ? Number(reference) : Number.NaN
    return Number.isSafeInteger(sequence)
      ? { ...common, reference_type: 'sequence', ...none, sequence, id: null }
      : null
  }
  return UUID.test(reference)
    ? { ...common, reference_type: 'id', ...none, sequence: null, id: reference }
    : null
}

/** A section, and steps below it. */
function isPath(fragment: string): boolean {
  const [section = '', ...steps] = fragment.split('/')
  return SECTION_NAMES.some((name) => name === section) && steps.every((step) => STEP.test(step))
}
