import { signEvent } from '../../../../src/core/journal/event.js'
import { formatLine } from '../../../../src/core/journal/line.js'
import {
  isHeadType,
  isSignedType,
  LINES,
  type LineType,
  type SignedType,
} from '../../../../src/core/journal/vocabulary.js'
import { signCapsule } from '../../../core/statement/sign-capsule.js'
import { capsuleWith, membersOf } from '../../../support/lines.js'
import type { Random } from '../random.js'
import {
  type Heads,
  isHead,
  originOf,
  type Row,
  relink,
  replaced,
  rowsOf,
  timeOf,
  withRows,
} from '../rows.js'
import { type Operation, pickRow, type World } from './operation.js'

/** Lines that no gate wrote: of every type the fold knows, at every place, with every signature one can have. */
export const INVENTED = (Object.keys(LINES) as LineType[]).filter((type) => !isHeadType(type))

/** Members that the fold would obey, so that obedience would show. */
const OBEYED: { readonly [type in LineType]?: { readonly [name: string]: unknown } } = {
  HALT: { scope: { kind: 'all' } },
  RESUME: { scope: { kind: 'agent', name: 'other-bot' } },
  GRANT_ISSUED: {
    ...{ standing: true, agent: 'support-bot', tool: 'create_refund', bounds: {} },
    ...{ expires_at: '2999-01-01T00:00:00.000Z', uses: 1000 },
  },
  CONFIG_CHANGED: { policy_digest: '0'.repeat(64), manifest_digests: [], mode: 'observe' },
}
/** Members that name something; here they carry the mark. */
const NAMES = [
  'action_id',
  'decision_id',
  'approval_id',
  'grant',
  'by',
  'endpoint',
  'webhook_id',
  'server',
]

function inventedMembers(type: LineType, mark: string): { readonly [name: string]: unknown } {
  const { kid, sig, ...members } = membersOf(type, OBEYED[type] ?? {})
  const marked = Object.keys(members).filter(
    (name) => NAMES.includes(name) && !(type === 'APPROVAL_VOTED' && name === 'by'),
  )
  const named = Object.fromEntries(marked.map((name) => [name, mark]))
  const capsule = type === 'CAPSULE' ? { capsule: capsuleWith({ action_id: mark }) } : {}
  return { ...members, ...named, ...capsule }
}

/** The members as text, with the best signature that can be had without the key. */
function inventedJson(
  type: LineType,
  mark: string,
  signedAs: string,
  origin: string,
  { stranger, keyring }: World,
): string {
  const members = inventedMembers(type, mark)
  if (type === 'CAPSULE') {
    const { kid, sign } = stranger.statement
    const capsule = members.capsule as Parameters<typeof signCapsule>[0]
    const { payload, protectedBytes, signature } = signCapsule(capsule, {
      ...{ statement: 'agent_action', kid, sign },
    })
    const [header, sig] = [protectedBytes, signature].map((each) =>
      Buffer.from(each).toString('base64url'),
    )
    return `{"statement":"agent_action","capsule":${payload},"protected":"${header}","signature":"${sig}"}`
  }
  if (!isSignedType(type) || signedAs === 'unsigned') return JSON.stringify(members)
  const own = keyring.find(({ purpose }) => purpose === 'event')?.kid ?? ''
  return signEvent({
    origin,
    type,
    members,
    kid: signedAs === 'posing' ? Buffer.from(own, 'hex') : stranger.event.kid,
    sign: stranger.event.sign,
  } as Parameters<typeof signEvent<SignedType>>[0]).json
}

const EARLY = '2026-01-01T00:00:00.000Z'
const SIGNED_AS = ['unsigned', 'stranger', 'posing'] as const

/** Puts a line of that type before row `at` and makes the chain fit behind it. */
function invented(
  rows: readonly Row[],
  at: number,
  [type, signedAs]: readonly [LineType, string],
  heads: Heads,
  random: Random,
  world: World,
): Row[] {
  const near = rows[Math.min(at, rows.length - 1)] as Row
  const [origin, time] = [originOf(near.text) ?? 'gate-0', timeOf(near.text) ?? EARLY]
  const json = inventedJson(type, random.mark(), signedAs, origin, world)
  const text = formatLine({ origin, seq: 1, prev: '0'.repeat(64), at: time, type }, json)
  return relink(rows.toSpliced(at, 0, { segment: near.segment, text, type }), at, heads)
}

const typesBySignature = (): readonly string[] =>
  INVENTED.flatMap((type) =>
    (isSignedType(type) ? SIGNED_AS : (['unsigned'] as const)).map((as) => `${type} ${as}`),
  )
const parsed = (target: string): readonly [LineType, string] => {
  const [type = 'HALT', as = 'unsigned'] = target.split(' ')
  return [type as LineType, as]
}

const putting = (
  name: string,
  adversary: string,
  place: (rows: readonly Row[], random: Random) => number,
  heads: Heads,
): Operation => ({
  name,
  adversary,
  targets: typesBySignature,
  apply(files, target, random, world) {
    const rows = rowsOf(files)
    if (rows === null) return null
    return withRows(
      files,
      invented(rows, place(rows, random), parsed(target), heads, random, world),
    )
  },
})

export const FORGED: readonly Operation[] = [
  putting(
    'invented-at-end',
    'Someone appends a line that links to the last one, as anyone can.',
    (rows) => rows.length,
    'placed',
  ),
  putting(
    'invented-in-middle',
    'Someone puts a line in the middle and makes chain and heads fit behind it.',
    (rows, random) => random.int(rows.length),
    'rewritten',
  ),
  putting(
    'invented-before-last-head',
    'Someone puts a line into the last batch and makes its head fit.',
    (rows) => Math.max(0, rows.findLastIndex(isHead)),
    'rewritten',
  ),
  {
    name: 'invented-with-head-behind',
    adversary: 'Someone appends a line and a head of their own behind it.',
    targets: typesBySignature,
    apply(files, target, random, world) {
      const rows = rowsOf(files)
      const head = rows?.findLast(({ type }) => type === 'HEAD')
      const by = world.signers[random.pick(Object.keys(world.signers))]
      if (!rows || head === undefined || by === undefined) return null
      const put = invented(rows, rows.length, parsed(target), 'placed', random, world)
      const { segment } = put.at(-1) as Row
      return withRows(files, relink([...put, { ...head, segment }], put.length, { by }))
    },
  },
  {
    name: 'capsule-signed-by-stranger',
    adversary:
      'Someone turns a verdict around and signs the capsule with a statement key of their own.',
    targets: () => ['as it is', 'rewritten'],
    apply(files, target, random, { stranger }) {
      const found = pickRow(files, 'CAPSULE', random)
      if (found === null) return null
      const { rows, at } = found
      const { text } = rows[at] as Row
      const { kid, sign } = stranger.statement
      const line = readCapsule(text)
      if (line === null) return null
      const developer = `${line.capsule.developer}-${random.mark()}`
      const { payload, protectedBytes, signature } = signCapsule(
        { ...line.capsule, developer },
        { statement: line.statement, kid, sign },
      )
      const own = text.replace(/"capsule":\{.*?\},"protected":"[^"]*","signature":"[^"]*"/, () => {
        const [header, sig] = [protectedBytes, signature].map((each) =>
          Buffer.from(each).toString('base64url'),
        )
        return `"capsule":${payload},"protected":"${header}","signature":"${sig}"`
      })
      const changed = replaced(rows, at, own)
      return withRows(files, target === 'rewritten' ? relink(changed, at, 'rewritten') : changed)
    },
  },
]

type CapsuleLine = { capsule: Parameters<typeof signCapsule>[0]; statement: 'agent_action' }
function readCapsule(text: string): CapsuleLine | null {
  try {
    return JSON.parse(text) as CapsuleLine
  } catch {
    return null
  }
}
