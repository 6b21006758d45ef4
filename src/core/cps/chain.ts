import { JsonNumber } from '../json/value.js'
import type { Sealed } from './sealed.js'
import { type CpsResult, type SealCode, type VerifyOptions, verifySealed } from './verify.js'

export type ChainCode =
  | SealCode
  /** No capsule can be read there. */
  | 'unreadable'
  /** Its members are not what they must be. */
  | 'invalid'
  /** Its `sequence` is not its place. */
  | 'sequence'
  /** Its `previous_hash` is not the hash of the one before it. */
  | 'link'
export type ChainFinding = {
  readonly code: ChainCode
  /** From 0. */
  readonly index: number
  /** The member, where it is one. */
  readonly field?: string
}
export type ChainResult = {
  readonly ok: boolean
  readonly findings: readonly ChainFinding[]
  readonly length: number
  /** Of the last capsule, as it says; null: there is none. */
  readonly head: string | null
  readonly signers: readonly string[]
  readonly not_checked: readonly string[]
}

const MOST_FINDINGS = 1000

/** Reads a chain capsule by capsule: place, link, members and seal of each (CPS, chain). */
export function createChain(options: VerifyOptions) {
  const findings: ChainFinding[] = []
  const signers = new Set<string>()
  const unchecked = new Set<string>()
  let index = 0
  let previous: string | null = null
  let failed = false

  function fault(code: ChainCode, field?: string): void {
    failed = true
    if (findings.length >= MOST_FINDINGS) return
    findings.push(field === undefined ? { code, index } : { code, index, field })
  }

  function checkLink({ content, seal }: Sealed): void {
    const sequence = content.get('sequence')
    const place = sequence instanceof JsonNumber ? sequence.token : ''
    if (place !== String(index)) fault('sequence', 'sequence')
    if ((content.get('previous_hash') ?? null) !== previous) fault('link', 'previous_hash')
    previous = seal.hash
  }

  return {
    /** Null: it could not be read. */
    add(sealed: Sealed | null): CpsResult | null {
      const result = sealed === null ? null : verifySealed(sealed, options)
      if (sealed === null || result === null) {
        fault('unreadable')
        previous = null
      } else {
        checkLink(sealed)
        for (const { severity, code, field } of result.findings)
          if (severity === 'error') fault('invalid', `${field} (${code})`)
        if (result.code !== null) fault(result.code)
        if (result.public_key !== null) signers.add(result.public_key)
        for (const name of result.not_checked) unchecked.add(name)
      }
      index++
      return result
    },
    end: (): ChainResult => ({
      ok: !failed,
      findings,
      length: index,
      head: previous,
      signers: [...signers],
      not_checked: [...unchecked],
    }),
  }
}
