import type { Crypto } from '../../crypto/crypto.js'
import { readHeadLine, readSignedHead, type SignedHead } from '../../journal/head.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import type { Findings } from '../finding.js'
import type { Link } from './line.js'
import type { Missing } from './missing.js'

/** A head seen elsewhere: a journal that is behind it, or has another line at its number, is not that journal. */
export type GivenHead = {
  line(link: Link, findings: Findings): void
  end(last: Link | null, findings: Findings): void
}

type Candidate = { readonly [member: string]: unknown }

/**
 * The heads in a text: JSON objects, one per line or one over several lines, that are a head or carry one as
 * `head` or `data`. What stands behind an object on its line, such as a checksum, is not read.
 */
export function headsIn(text: string): readonly Candidate[] {
  const whole = objectIn(text)
  if (whole !== null && text.slice(whole.end).trim() === '') return headsOf(whole.value)
  return text.split('\n').flatMap((line) => headsOf(objectIn(line)?.value ?? null))
}

const isRecord = (value: unknown): value is Candidate =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function headsOf(value: unknown, depth = 0): Candidate[] {
  if (!isRecord(value) || depth > 2) return []
  const { origin, upto, hash, sig } = value
  if ([origin, hash, sig].every((each) => typeof each === 'string') && typeof upto === 'number')
    return [value]
  return [...headsOf(value.head, depth + 1), ...headsOf(value.data, depth + 1)]
}

/** The object that a text begins with, by depth and string state, and where it ends. */
function objectIn(text: string): { readonly value: unknown; readonly end: number } | null {
  const start = text.search(/\S/)
  if (text[start] !== '{') return null
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (inString) {
      if (char === '\\') at++
      else if (char === '"') inString = false
    } else if (char === '"') inString = true
    else if (char === '{') depth++
    else if (char === '}' && --depth === 0) {
      try {
        return { value: JSON.parse(text.slice(start, at + 1)), end: at + 1 }
      } catch {
        return null
      }
    }
  }
  return null
}

/** A whole seal line is a head too; its signature is over the seal. */
function readHead(value: Candidate, keys: readonly PublicKeyRecord[], crypto: Crypto) {
  return value.type === 'SEGMENT_SEALED' && typeof value.origin === 'string'
    ? readHeadLine(JSON.stringify(value), value.origin, keys, crypto)
    : readSignedHead(value, keys, crypto)
}

export function createGivenHead(
  text: string | undefined,
  keys: readonly PublicKeyRecord[] | undefined,
  crypto: Crypto,
  missing: Missing,
): GivenHead | null {
  if (text === undefined) return null
  const heads = headsIn(text)
  const valid: SignedHead[] = []
  let why = heads.length === 0 ? 'there is none in what was given' : ''
  for (const value of heads) {
    const read = readHead(value, keys ?? [], crypto)
    if (read.ok) valid.push(read.head)
    else why = read.why
  }
  if (valid.length === 0) {
    missing.add('given head', `the head given cannot be verified: ${why}`)
    return { line: () => {}, end: () => {} }
  }
  return hold(valid, missing)
}

function hold(valid: readonly SignedHead[], missing: Missing): GivenHead {
  let head: SignedHead | null = null
  let first = true

  function begin({ origin, seq, prev }: Link, findings: Findings): void {
    const own = valid.filter((each) => each.origin === origin)
    for (const each of own) if (head === null || each.upto > head.upto) head = each
    if (head === null) {
      findings.fault('given_head_foreign', `it is of origin ${valid[0]?.origin}`)
      return
    }
    const { upto, hash } = head
    if (own.some((each) => each.upto === upto && each.hash !== hash))
      findings.fault('given_heads_forked', `two signed heads of line ${upto} differ`)
    if (upto === seq - 1 && hash !== prev) findings.fault('given_head_mismatch', another(upto))
    if (upto < seq - 1)
      missing.add('given head', `the head given is of line ${upto}, which is not here`)
  }

  return {
    line(link, findings) {
      if (first) begin(link, findings)
      first = false
      if (head !== null && link.seq === head.upto && link.hash !== head.hash)
        findings.fault('given_head_mismatch', another(head.upto))
    },
    end(last, findings) {
      if (head === null || last === null || last.seq >= head.upto) return
      const { upto } = head
      const why = `the journal ends at line ${last.seq}, but line ${upto} was written: it is an older copy`
      findings.fault('journal_behind_head', why)
    },
  }
}

const another = (upto: number): string => `line ${upto} is another than the one that was there`
