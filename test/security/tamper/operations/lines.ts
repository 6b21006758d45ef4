import type { Files } from '../folder.js'
import type { Random } from '../random.js'
import { type Heads, indexesOf, isHead, type Row, relink, rowsOf, withRows } from '../rows.js'
import { everyType, type Operation, once, pickRow, type World } from './operation.js'

/** Whole lines: taken out, put in, moved, exchanged, cut off; with and without making the chain fit again. */

/** How the chain is made to fit behind a change; the adversary has every key but the gate's event key. */
const RELINKED: readonly (readonly [string, (world: World) => Heads | null])[] = [
  ['as it is', () => null],
  ['relinked', () => 'placed'],
  ['relinked with heads that fit', () => 'rewritten'],
  ['relinked and signed by a stranger', ({ signers }) => signerOf(signers, 'stranger')],
  ['relinked and signed by a stranger as the gate', ({ signers }) => signerOf(signers, 'posing')],
]
const signerOf = (signers: World['signers'], name: string): Heads => {
  const by = signers[name]
  if (by === undefined) throw new TypeError(`there is no signer ${name}`)
  return { by }
}

type Edit = { readonly rows: readonly Row[]; readonly from: number }

/** One operation for each way to go on behind the edit. */
const ways = (
  name: string,
  adversary: string,
  targets: Operation['targets'],
  edit: (files: Files, target: string, random: Random) => Edit | null,
): readonly Operation[] =>
  RELINKED.map(([way, headsIn]) => ({
    name: `${name}, ${way}`,
    adversary,
    targets,
    apply(files, target, random, world) {
      const done = edit(files, target, random)
      if (done === null) return null
      const heads = headsIn(world)
      const rows = heads === null ? done.rows : relink(done.rows, done.from, heads)
      return withRows(files, rows)
    },
  }))

export const LINES_CHANGED: readonly Operation[] = [
  ...ways(
    'line-removed',
    'Someone removes a line that shows what was done.',
    everyType,
    (files, type, random) => {
      const found = pickRow(files, type, random)
      return found && { rows: found.rows.toSpliced(found.at, 1), from: found.at }
    },
  ),
  ...ways(
    'all-of-type-removed',
    'Someone removes every line of a type: all denials, all halts, all dispatches.',
    everyType,
    (files, type) => {
      const rows = rowsOf(files)
      const [from] = rows === null ? [] : indexesOf(rows, type)
      if (rows === null || from === undefined) return null
      return { rows: rows.filter((row) => row.type !== type), from }
    },
  ),
  ...ways('line-doubled', 'Someone has a line count twice.', everyType, (files, type, random) => {
    const found = pickRow(files, type, random)
    if (found === null) return null
    const row = found.rows[found.at] as Row
    return { rows: found.rows.toSpliced(found.at, 0, row), from: found.at + 1 }
  }),
  ...ways(
    'line-moved',
    'Someone moves a genuine line to another place: a resume before its halt, a vote before its call.',
    everyType,
    (files, type, random) => {
      const found = pickRow(files, type, random)
      if (found === null || found.rows.length < 3) return null
      const row = found.rows[found.at] as Row
      const rest = found.rows.toSpliced(found.at, 1)
      const to = random.int(rest.length)
      const { segment } = rest[to] as Row
      return { rows: rest.toSpliced(to, 0, { ...row, segment }), from: Math.min(to, found.at) }
    },
  ),
  ...ways(
    'line-replayed-at-end',
    'Someone puts a genuine line to the end again, so that its order is obeyed a second time.',
    everyType,
    (files, type, random) => {
      const found = pickRow(files, type, random)
      if (found === null) return null
      const { segment } = found.rows.at(-1) as Row
      const row = { ...(found.rows[found.at] as Row), segment }
      return { rows: [...found.rows, row], from: found.rows.length }
    },
  ),
  ...ways('lines-exchanged', 'Someone exchanges two lines.', everyType, (files, type, random) => {
    const found = pickRow(files, type, random)
    if (found === null || found.rows.length < 3) return null
    const other = (found.at + 1 + random.int(found.rows.length - 1)) % found.rows.length
    const [a, b] = [found.rows[found.at] as Row, found.rows[other] as Row]
    const rows = found.rows
      .with(found.at, { ...b, segment: a.segment })
      .with(other, { ...a, segment: b.segment })
    return { rows, from: Math.min(found.at, other) }
  }),
  ...ways(
    'batch-replayed',
    'Someone puts a whole genuine batch, its head included, to the end again.',
    once,
    (files, _, random) => {
      const rows = rowsOf(files)
      if (rows === null) return null
      const heads = rows.flatMap((row, index) => (isHead(row) ? [index] : []))
      if (heads.length < 2) return null
      const at = random.int(heads.length - 1)
      const batch = rows.slice((heads[at] ?? 0) + 1, (heads[at + 1] ?? 0) + 1)
      const { segment } = rows.at(-1) as Row
      const again = batch.map((row) => ({ ...row, segment }))
      return { rows: [...rows, ...again], from: rows.length }
    },
  ),
  ...ways(
    'all-but-three-capsules-removed',
    'Someone leaves the last three capsules only, as if the rest had never been.',
    once,
    (files) => {
      const rows = rowsOf(files)
      if (rows === null) return null
      const kept = new Set(indexesOf(rows, 'CAPSULE').slice(-3))
      const left = rows.filter((row, index) => row.type !== 'CAPSULE' || kept.has(index))
      return left.length === rows.length ? null : { rows: left, from: 0 }
    },
  ),
  ...ways(
    'every-denial-removed',
    'Someone removes every capsule of a call that was refused.',
    once,
    (files) => {
      const rows = rowsOf(files)
      if (rows === null) return null
      const left = rows.filter(({ text }) => !/"verdict_class":"(denied|blocked)"/.test(text))
      return left.length === rows.length ? null : { rows: left, from: 0 }
    },
  ),
  ...ways(
    'every-event-removed',
    'Someone leaves nothing but capsules, heads and seals.',
    once,
    (files) => {
      const rows = rowsOf(files)
      if (rows === null) return null
      const left = rows.filter((row) => row.type === 'CAPSULE' || isHead(row))
      return left.length === rows.length ? null : { rows: left, from: 0 }
    },
  ),
  cutting('cut-before', 'Someone cuts the journal off before a line.', 0),
  cutting('cut-behind', 'Someone cuts the journal off behind a line.', 1),
  {
    name: 'cut-in-line',
    adversary: 'Someone cuts the journal off in the middle of a line.',
    targets: everyType,
    apply(files, type, random) {
      const found = pickRow(files, type, random)
      if (found === null) return null
      const { text } = found.rows[found.at] as Row
      const cut = withRows(files, found.rows.slice(0, found.at + 1))
      return cutEnd(cut, 1 + random.int(text.length))
    },
  },
  {
    name: 'empty-line',
    adversary: 'Someone puts an empty line in, which readers skip.',
    targets: everyType,
    apply(files, type, random) {
      const found = pickRow(files, type, random)
      if (found === null) return null
      const { segment } = found.rows[found.at] as Row
      return withRows(files, found.rows.toSpliced(found.at, 0, { segment, text: '', type: '' }))
    },
  },
]

function cutting(name: string, adversary: string, behind: 0 | 1): Operation {
  return {
    name,
    adversary,
    targets: everyType,
    apply(files, type, random) {
      const found = pickRow(files, type, random)
      const at = (found?.at ?? 0) + behind
      if (found === null || at === found.rows.length) return null
      return withRows(files, found.rows.slice(0, at))
    },
  }
}

/** Takes octets off the end of the last segment that has any. */
function cutEnd(files: Files, octets: number): Files | null {
  const out = new Map(files)
  for (const name of [...files.keys()]
    .filter((each) => each.endsWith('.jsonl'))
    .sort()
    .reverse()) {
    const bytes = files.get(name) as Buffer
    if (bytes.length === 0) continue
    out.set(name, bytes.subarray(0, Math.max(0, bytes.length - octets)))
    return out
  }
  return null
}
