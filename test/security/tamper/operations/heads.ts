import type { HeadMembers } from '../../../../src/core/journal/head.js'
import { signHead } from '../../../../src/core/journal/head.js'
import { isHead, originOf, type Row, relink, replaced, rowsOf, withRows } from '../rows.js'
import { type Operation, once, pickRow, type World } from './operation.js'

/** Heads and seals themselves, versions and origins. */
const HEADS = ['HEAD', 'SEGMENT_SEALED', 'the last'] as const

/** A head or seal of that kind; the last one has nothing behind it that would show a change. */
const pick: typeof pickRow = (files, target, random) => {
  if (target !== 'the last') return pickRow(files, target, random)
  const rows = rowsOf(files)
  const at = rows?.findLastIndex(isHead) ?? -1
  return rows === null || at < 0 ? null : { rows, at }
}

/** The text of one head changed, and nothing else. */
const edited = (
  name: string,
  adversary: string,
  change: (text: string, other: string) => string,
): Operation => ({
  name,
  adversary,
  targets: () => HEADS,
  apply(files, target, random) {
    const found = pick(files, target, random)
    if (found === null) return null
    const { rows, at } = found
    const others = rows.filter((row, index) => isHead(row) && index !== at)
    if (others.length === 0) return null
    const text = change(rows[at]?.text ?? '', random.pick(others).text)
    return text === rows[at]?.text ? null : withRows(files, replaced(rows, at, text))
  },
})
const member = (text: string, name: string): string =>
  new RegExp(`"${name}":"([^"]*)"`).exec(text)?.[1] ?? ''
const withMember = (text: string, name: string, value: string): string =>
  text.replace(new RegExp(`"${name}":"[^"]*"`), `"${name}":"${value}"`)
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

export const HEADS_CHANGED: readonly Operation[] = [
  edited(
    'head-count-lowered',
    'Someone lowers the count of capsules in a head, to fit lines that are gone.',
    (text) =>
      text.replace(
        /"capsules":(\d+)/,
        (_, n: string) => `"capsules":${Math.max(0, Number(n) - 1)}`,
      ),
  ),
  edited('head-time-changed', 'Someone makes a head older than it is.', (text) =>
    text.replace(/"time":"\d{4}/, '"time":"2001').replace(/"at":"\d{4}/, '"at":"2001'),
  ),
  edited(
    'head-signature-of-another',
    'Someone puts the signature of another head in.',
    (text, other) => withMember(text, 'sig', member(other, 'sig')),
  ),
  edited(
    'head-signature-spelled-otherwise',
    'Someone changes bits of the signature text that carry nothing.',
    (text) => {
      const sig = member(text, 'sig')
      const last = ALPHABET.indexOf(sig.slice(-1))
      return withMember(text, 'sig', `${sig.slice(0, -1)}${ALPHABET[last ^ 1] ?? 'A'}`)
    },
  ),
  edited('head-signature-padded', 'Someone pads the signature text.', (text) =>
    withMember(text, 'sig', `${member(text, 'sig')}==`),
  ),
  edited('head-signature-emptied', 'Someone empties the signature.', (text) =>
    withMember(text, 'sig', ''),
  ),
  edited('head-key-spelled-otherwise', 'Someone writes the key id in capitals.', (text) =>
    withMember(text, 'kid', member(text, 'kid').toUpperCase()),
  ),
  edited('head-unsigned', 'Someone leaves key id and signature out.', (text) =>
    text.replace(/,"kid":"[^"]*","sig":"[^"]*"/, ''),
  ),
  edited('head-member-added', 'Someone adds a member of their own to a head.', (text) =>
    text.replace(/\}$/, ',"note":"trust me"}'),
  ),
  edited(
    'head-member-repeated',
    'Someone says a member twice; readers differ in which counts.',
    (text) => text.replace(/\}$/, ',"upto":1}'),
  ),
  edited('head-order-changed', 'Someone changes the order of members.', (text) =>
    text.replace(/("lines":\d+),("capsules":\d+)/, '$2,$1'),
  ),
  edited(
    'head-of-other-type',
    'Someone gives a seal out as a head, or a head as a seal.',
    (text) =>
      text.includes('"type":"HEAD"')
        ? text.replace('"type":"HEAD"', '"type":"SEGMENT_SEALED"')
        : text.replace('"type":"SEGMENT_SEALED"', '"type":"HEAD"'),
  ),
  edited(
    'head-replaced-by-another',
    'Someone puts another genuine head there.',
    (_, other) => other,
  ),
  {
    name: 'seals-exchanged',
    adversary: 'Someone exchanges the seals of two segments.',
    targets: once,
    apply(files, _, random) {
      const found = pickRow(files, 'SEGMENT_SEALED', random)
      const other = pickRow(files, 'SEGMENT_SEALED', random)
      if (found === null || other === null || found.at === other.at) return null
      const [a, b] = [found.rows[found.at] as Row, found.rows[other.at] as Row]
      return withRows(files, replaced(replaced(found.rows, found.at, b.text), other.at, a.text))
    },
  },
  {
    name: 'heads-and-seals-removed',
    adversary: 'Someone removes every head and seal and links the rest.',
    targets: () => ['as it is', 'relinked'],
    apply(files, target) {
      const rows = rowsOf(files)?.filter((row) => !isHead(row)) ?? []
      if (rows.length === 0) return null
      return withRows(files, target === 'relinked' ? relink(rows, 0, 'placed') : rows)
    },
  },
  {
    name: 'all-heads-signed-by',
    adversary: 'Someone signs every head and seal anew with a key that is not the event key.',
    targets: ({ signers }) => Object.keys(signers),
    apply: (files, target, _, world) => resigned(files, 0, target, world),
  },
  {
    name: 'last-head-signed-by',
    adversary: 'Someone signs the last head anew with a key that is not the event key.',
    targets: ({ signers }) => Object.keys(signers),
    apply(files, target, _, world) {
      const last = rowsOf(files)?.findLastIndex(isHead) ?? -1
      return last < 0 ? null : resigned(files, last, target, world)
    },
  },
  {
    name: 'head-appended-by',
    adversary: 'Someone signs a head of their own behind lines that are the gate’s.',
    targets: ({ signers }) => Object.keys(signers),
    apply(files, target, _, { signers }) {
      const rows = rowsOf(files)
      const last = rows?.at(-1)
      const by = signers[target]
      if (!rows || last === undefined || by === undefined) return null
      const origin = originOf(last.text)
      if (origin === null) return null
      const nothing: HeadMembers = { upto: 0, hash: '', time: '', lines: 0, capsules: 0 }
      const hash = '0'.repeat(64)
      const { text } = signHead({ ...nothing, hash, time: '2026-01-01T00:00:00.000Z' }, by(origin))
      const put = [...rows, { ...last, text, type: 'HEAD' }]
      return withRows(files, relink(put, rows.length, { by }))
    },
  },
  {
    name: 'version-set-back',
    adversary:
      'Someone makes the journal one of version 1, which had no heads and fewer signatures.',
    targets: () => ['every line', 'signatures stripped', 'without heads', 'from the middle on'],
    apply(files, target) {
      const all = rowsOf(files)
      if (all === null) return null
      const from = target === 'from the middle on' ? Math.floor(all.length / 2) : 0
      const rows = all
        .map((row, index) =>
          index < from ? row : { ...row, text: row.text.replace('{"v":2', '{"v":1') },
        )
        .filter((row, index) => index < from || target === 'every line' || !isHead(row))
        .map((row) => (target === 'signatures stripped' ? stripped(row) : row))
      return withRows(files, relink(rows, from, 'placed'))
    },
  },
  {
    name: 'origin-renamed',
    adversary: 'Someone gives the journal out as another gate’s.',
    targets: () => ['every line', 'the last'],
    apply(files, target) {
      const rows = rowsOf(files)
      if (rows === null) return null
      const from = target === 'the last' ? rows.length - 1 : 0
      const named = rows.map((row, index) =>
        index < from
          ? row
          : {
              ...row,
              text: row.text.replace(/"origin":"[^"]*"/, '"origin":"gate-0123456789abcdef"'),
            },
      )
      return withRows(files, relink(named, from, 'rewritten'))
    },
  },
]

const stripped = (row: Row): Row => ({
  ...row,
  text: row.text.replace(/,"kid":"[^"]*","sig":"[^"]*"/, ''),
})

function resigned(
  files: Parameters<Operation['apply']>[0],
  from: number,
  name: string,
  { signers }: World,
): ReturnType<Operation['apply']> {
  const rows = rowsOf(files)
  const by = signers[name]
  return rows === null || by === undefined ? null : withRows(files, relink(rows, from, { by }))
}
