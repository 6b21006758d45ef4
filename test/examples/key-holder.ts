import { signHead, signSeal } from '../../src/core/journal/head.js'
import { refused } from '../core/verify/journal/scenario.js'
import { SMALLEST } from '../support/lines.js'
import { type JournalKeys, type SealedJournal, sealedJournal } from '../support/sealed-journal.js'
import type { Tampering } from './tamperings.js'

/** What no one without the keys can write, and the gate never does: signatures hold, what they say does not. */
const scope = { kind: 'all' } as const
type Change = { readonly [member: string]: unknown }

/** A journal of one batch whose head, or seal, says something else. */
function withHead(keys: JournalKeys, type: 'HEAD' | 'SEGMENT_SEALED', change: Change): string {
  const journal = sealedJournal({ keys })
  const entries = [journal.capsule(refused('denied')), journal.event('HALT', { scope, by: 'ops' })]
  if (type === 'HEAD') journal.write(...entries)
  else journal.seal(...entries)
  const {
    v: _v,
    origin,
    seq: _s,
    prev: _p,
    at: _a,
    type: _t,
    kid: _k,
    sig: _g,
    ...members
  } = JSON.parse(journal.lines.at(-1) ?? '')
  const by = { origin, kid: keys.event.kid, sign: keys.event.sign }
  const said = { ...members, ...change }
  const line = type === 'HEAD' ? signHead(said, by).text : signSeal(said, by)
  return [...journal.lines.slice(0, -1), line, ''].join('\n')
}

function adopting(keys: JournalKeys, change: Change, before: 1 | 2 = 1): string {
  const journal = sealedJournal({ keys })
  journal.writeBare(before, journal.event('HALT', { scope, by: 'ops' }))
  journal.writeBare(before, { type: 'RESUME', json: JSON.stringify({ scope, by: 'ops' }) })
  journal.adopt({ unsigned: [2], ...change })
  return journal.text()
}

function continued(keys: JournalKeys, write: (journal: SealedJournal) => void): string {
  const journal = sealedJournal({ keys })
  write(journal)
  return journal.text()
}

/** Behind the last head, where nothing covers it. */
function lastLine(keys: JournalKeys, change: (line: string) => string): string {
  const journal = sealedJournal({ keys })
  journal.write(journal.event('HALT', { scope, by: 'ops' }))
  journal.writeBare(2, journal.event('RESUME', { scope, by: 'ops' }))
  return [...journal.lines.slice(0, -1), change(journal.lines.at(-1) ?? ''), ''].join('\n')
}

export function keyHolders(keys: JournalKeys): Tampering[] {
  const zeros = '0'.repeat(64)
  const config = (journal: SealedJournal) =>
    journal.event('CONFIG_CHANGED', SMALLEST.CONFIG_CHANGED)
  const texts: { readonly [kind: string]: string } = {
    'a head that counts another number of lines': withHead(keys, 'HEAD', { lines: 3 }),
    'a head that counts another number of capsules': withHead(keys, 'HEAD', { capsules: 0 }),
    'a seal of another segment': withHead(keys, 'SEGMENT_SEALED', { segment: 2 }),
    'a seal of another size': withHead(keys, 'SEGMENT_SEALED', { size: 3 }),
    'a seal of another root': withHead(keys, 'SEGMENT_SEALED', { root: zeros }),
    'a seal of other types': withHead(keys, 'SEGMENT_SEALED', { counts: { CAPSULE: 2 } }),
    'a seal with its types in another order': withHead(keys, 'SEGMENT_SEALED', {}).replace(
      '{"CAPSULE":1,"HALT":1}',
      '{"HALT":1,"CAPSULE":1}',
    ),
    'a head of fewer lines than stand before it, without its beginning': withHead(keys, 'HEAD', {
      lines: 0,
    }).replace(/^.*\n/, ''),
    'an adoption of another line': adopting(keys, { hash: zeros }),
    'an adoption up to another line': adopting(keys, { upto: 1 }),
    'an adoption that does not accept what is unsigned': adopting(keys, { unsigned: [] }),
    'an adoption of version 2': adopting(keys, {}, 2),
    'an adoption of nothing': continued(keys, (journal) => journal.adopt({ upto: 1 })),
    'version 2 without an adoption': continued(keys, (journal) => {
      journal.writeBare(1, config(journal))
      journal.write(config(journal))
    }),
    'version 1 behind version 2': continued(keys, (journal) => {
      journal.write(config(journal))
      journal.writeBare(1, config(journal))
      journal.write(config(journal))
    }),
    'an unsigned event': continued(keys, (journal) =>
      journal.write({ type: 'HALT', json: JSON.stringify({ scope, by: 'ops' }) }),
    ),
    'a type of a later version': continued(keys, (journal) =>
      journal.write({ type: 'LATER', json: '{}' }),
    ),
    'a last line of another number': lastLine(keys, (line) => line.replace('"seq":3', '"seq":4')),
    'a last line of an earlier time': lastLine(keys, (line) =>
      line.replace('"at":"2026', '"at":"2025'),
    ),
    'a last line with a name twice': lastLine(keys, (line) => line.replace(/\}$/, ',"seq":3}')),
    'a last line with another spelling of its signature': lastLine(keys, (line) =>
      // The last of its 86 characters has four bits to spare.
      line.replace(/.(?="\}$)/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
    ),
    'a last line without line feed': continued(keys, (journal) =>
      journal.write(config(journal)),
    ).trimEnd(),
    'no head': continued(keys, (journal) => journal.writeBare(2, config(journal))),
  }
  return Object.entries(texts).map(([kind, text]) => ({ kind, bytes: Buffer.from(text) }))
}

/** A head of line 1 in another history under the same keys. */
export function otherHead(keys: JournalKeys): string {
  const journal = sealedJournal({ keys })
  journal.write(journal.event('HALT', { scope, by: 'ops' }))
  return JSON.stringify(journal.heads[0])
}
