import fc from 'fast-check'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { signEvent } from '../../src/core/journal/event.js'
import { leafHash } from '../../src/core/journal/line.js'
import { type TestKey, testKey } from '../core/statement/sample.js'
import type { SealedJournal } from '../support/sealed-journal.js'

/** What someone may do to a journal's file, with and without keys of their own. */
export type Tampering = { readonly kind: string; readonly bytes: Uint8Array }

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const joined = (lines: readonly string[]): Uint8Array =>
  bytesOf(lines.map((line) => `${line}\n`).join(''))
const envelope = /^(\{"v":\d,"origin":"[^"]*","seq":)\d+(,"prev":")[0-9a-f]{64}/

/** Numbers and links made anew, as anyone can; signatures stay what they were. */
function relinked(lines: readonly string[]): string[] {
  let prev = '0'.repeat(64)
  return lines.map((line, index) => {
    const linked = line.replace(envelope, `$1${index + 1}$2${prev}`)
    prev = leafHash(bytesOf(linked), nodeCrypto)
    return linked
  })
}

/** The event signed anew by another key; its line keeps its place. */
function signedBy(key: TestKey, line: string): string {
  const { v, origin, seq, prev, at, type, kid: _, sig: __, ...members } = JSON.parse(line)
  const signed = signEvent({ origin, type, members, kid: key.kid, sign: key.sign })
  return JSON.stringify({ v, origin, seq, prev, at, type, ...signed.members })
}

/** Changes of one line, each by a number that picks the place. */
const LINES: { readonly [kind: string]: (line: string, at: number) => string } = {
  digit: (line, at) => {
    const digits = [...line.matchAll(/\d/g)]
    const { index = 0 } = digits[at % digits.length] ?? {}
    return `${line.slice(0, index)}${(Number(line[index]) + 1) % 10}${line.slice(index + 1)}`
  },
  space: (line, at) => line.replace(/,/g, (comma, place) => (place % 7 === at % 7 ? ', ' : comma)),
  twice: (line) => line.replace(/\}$/, ',"type":"HEAD"}'),
  fraction: (line, at) => {
    const numbers = [...line.matchAll(/:\d+(?=[,}])/g)]
    const { index = 0, 0: token = '' } = numbers[at % numbers.length] ?? {}
    return `${line.slice(0, index)}${token}.0${line.slice(index + token.length)}`
  },
  more: (line) => line.replace(/\}$/, ',"more":1}'),
  counts: (line) =>
    line.replace(/"(lines|capsules|size)":(\d+)/g, (_, name, n) => `"${name}":${Number(n) + 1}`),
  signature: (line) => line.replace(/"(sig|signature)":"./g, '"$1":"_'),
  unsigned: (line) => line.replace(/,"kid":"[0-9a-f]+","sig":"[^"]+"/, ''),
  version: (line, at) => line.replace(/^\{"v":\d/, `{"v":${at % 4}`),
  type: (line) => line.replace(/"type":"([A-Z_]+)"/, '"type":"$1_LATER"'),
  origin: (line) => line.replace(/"origin":"/, '"origin":"other-'),
  surrogate: (line) => line.replace(/\}$/, ',"more":"\\ud800"}'),
}

/** Seeded, so that a failure can be seen again. */
export function tamperings(journal: SealedJournal, count: number, seed: number): Tampering[] {
  const { lines, keys } = journal
  const stranger = testKey('event')
  const bytes = joined(lines)
  const signed = lines.flatMap((line, index) => (line.includes('"sig":"') ? [index] : []))
  const WHOLE: { readonly [kind: string]: (at: number, more: number) => Uint8Array } = {
    flip: (at, more) =>
      bytes.with(at % bytes.length, (bytes[at % bytes.length] ?? 0) ^ (1 << (more % 8))),
    put: (at, more) => {
      const place = at % (bytes.length + 1)
      return Uint8Array.from([...bytes.subarray(0, place), more % 256, ...bytes.subarray(place)])
    },
    cutBytes: (at) => bytes.subarray(0, at % bytes.length),
    cut: (at) => joined(lines.slice(0, at % lines.length)),
    behind: (at) => joined(lines.slice(at % lines.length)),
    delete: (at) => joined(lines.toSpliced(at % lines.length, 1)),
    double: (at, more) =>
      joined(lines.toSpliced(more % lines.length, 0, lines[at % lines.length] ?? '')),
    blank: (at, more) => joined(lines.toSpliced(at % (lines.length + 1), 0, ' '.repeat(more % 3))),
    swap: (at, more) => {
      const [one, other] = [at % lines.length, more % lines.length]
      return joined(lines.with(one, lines[other] ?? '').with(other, lines[one] ?? ''))
    },
    relink: (at) => joined(relinked(lines.toSpliced(at % lines.length, 1))),
    otherKey: (at, more) => {
      const index = signed[at % signed.length] ?? 0
      const by = more % 2 === 0 ? stranger : keys.statement
      return joined(lines.with(index, signedBy(by, lines[index] ?? '')))
    },
    otherKeyLast: (at, more) => {
      const index = signed[at % signed.length] ?? 0
      const by = more % 2 === 0 ? stranger : keys.statement
      return joined([...lines.slice(0, index), signedBy(by, lines[index] ?? '')])
    },
    /** Behind the last line nothing shows a change but the line itself. */
    flipLast: (at, more) => {
      const kept = joined(lines.slice(0, 1 + (more % lines.length)))
      const length = (lines[more % lines.length] ?? '').length
      const place = Math.max(0, kept.length - 1 - (at % length))
      return kept.with(place, (kept[place] ?? 0) ^ (1 << (more % 7)))
    },
  }
  for (const [kind, change] of Object.entries(LINES)) {
    Object.assign(WHOLE, {
      [kind]: (at: number, more: number) =>
        joined(lines.with(at % lines.length, change(lines[at % lines.length] ?? '', more))),
      [`${kind}Last`]: (at: number, more: number) =>
        joined([
          ...lines.slice(0, at % lines.length),
          change(lines[at % lines.length] ?? '', more),
        ]),
    })
  }
  const kinds = Object.keys(WHOLE)
  const places = fc.tuple(fc.nat(1_000_000), fc.nat(1_000_000))
  return fc.sample(places, { numRuns: count, seed }).map(([at, more], index) => {
    const kind = kinds[index % kinds.length] ?? ''
    return { kind, bytes: WHOLE[kind]?.(at, more) ?? bytes }
  })
}
