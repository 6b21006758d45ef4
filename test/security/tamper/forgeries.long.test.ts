import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { GateError } from '../../../src/core/error.js'
import { CANARY } from '../../../src/gate/operate/canary.js'
import { sample } from '../../support/draws.js'
import { type Rig, rig } from '../../support/rig.js'
import { type Files, quickFolder, readFolder, SNAPSHOT, withFile, writeFolder } from './folder.js'
import { createVerifyJudge, type VerifyJudge } from './judge-verify.js'
import { FORGED, INVENTED } from './operations/forge.js'
import { LINES_CHANGED } from './operations/lines.js'
import type { Operation, World } from './operations/operation.js'
import { randomOf } from './random.js'
import { isHead, type Row, relink, rowsOf, withRows } from './rows.js'
import { MANIFEST, POLICIES } from './shop.js'
import { makeWorld } from './world.js'

/** The forgeries one would try first, against a whole gate: what it signs at its start stays the truth. */
let world: World
let verify: VerifyJudge
let root = ''
beforeAll(async () => {
  world = await makeWorld()
  verify = createVerifyJudge(world)
  root = quickFolder('forgeries')
})
afterAll(() => {
  verify.close()
  rmSync(root, { recursive: true, force: true })
})

let made = 0
type Started = {
  readonly refused: string | null
  readonly told: readonly string[]
  readonly added: readonly Row[]
}

/** Starts a gate on the folder, recovery and canary included, and stops it. */
async function start(files: Files): Promise<Started> {
  const dir = join(root, String(made++))
  writeFolder(dir, files)
  let at: Rig
  try {
    at = await rig({ manifest: MANIFEST, policies: POLICIES }, dir)
  } catch (error) {
    // Where damage is found before the first capsule, the gate cannot prove that it denies, and says so.
    if (!(error instanceof GateError || error instanceof GateError)) throw error
    return { refused: error.message, told: [], added: [] }
  }
  await at.gate.data.journal.verified
  const told = at.reports
    .map(({ event }) => event)
    .filter((event) => /^journal_(?!head$)/.test(event))
  await at.gate.close()
  const before = new Set((rowsOf(world.story.files) ?? []).map(({ text }) => text))
  const added = (rowsOf(readFolder(dir)) ?? []).filter(({ text }) => !before.has(text))
  return { refused: null, told, added }
}
/** Capsules that the gate signed at this start, its canary's left out. */
const signedNow = ({ added }: Started): readonly Row[] =>
  added.filter(({ type, text }) => type === 'CAPSULE' && !text.includes(`"developer":"${CANARY}"`))

const operation = (of: readonly Operation[], name: string): Operation => {
  const found = of.find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  return found
}
const apply = (of: Operation, target: string): Files => {
  const files = of.apply(world.story.files, target, randomOf(`forgery ${of.name} ${target}`), world)
  if (files === null) throw new Error(`${of.name} cannot be done to ${target}`)
  return files
}

const PLACES = FORGED.filter(({ name }) => name.startsWith('invented-')).map(({ name }) => name)

describe.each(INVENTED)('an invented %s line', (type) => {
  it.each(sample(PLACES, 2))(
    '%s passes no verify, and nothing comes of it at a start',
    async (place) => {
      const forging = operation(FORGED, place)
      const target = forging.targets(world).findLast((each) => each.startsWith(`${type} `)) ?? ''
      const files = apply(forging, target)
      expect(await verify.judge(files)).toBeNull()
      const started = await start(files)
      expect(started.refused !== null || started.told.length > 0).toBe(true)
      expect(signedNow(started)).toEqual([])
      expect(started.added.filter(({ text }) => text.includes('forged-'))).toEqual([])
    },
  )
})

describe('a confirmed action whose capsule is taken away', () => {
  /** With the snapshot from before it, so that a start reads all of it again. */
  function without(of: (rows: readonly Row[]) => Row[]): Files {
    const files = withRows(world.story.files, of(rowsOf(world.story.files) ?? []))
    return withFile(files, SNAPSHOT, world.story.earlier[0]?.snapshot ?? Buffer.alloc(0))
  }
  const capsule = (rows: readonly Row[]): number =>
    rows.findLastIndex(
      ({ type, text }) => type === 'CAPSULE' && text.includes('"status":"confirmed"'),
    )

  it.each<[string, (rows: readonly Row[]) => Row[]]>([
    ['cut out', (rows) => rows.toSpliced(capsule(rows), 1)],
    ['cut out and relinked', (rows) => relink(rows.toSpliced(capsule(rows), 1), 0, 'placed')],
    [
      'cut out, relinked and heads made to fit',
      (rows) => relink(rows.toSpliced(capsule(rows), 1), 0, 'rewritten'),
    ],
    ['cut off with all behind it', (rows) => rows.slice(0, capsule(rows))],
    [
      'cut off up to the head before it',
      (rows) => rows.slice(0, rows.slice(0, capsule(rows)).findLastIndex(isHead) + 1),
    ],
  ])('%s: the start is refused and signs nothing', async (_, of) => {
    const files = without(of)
    expect(await verify.judge(files)).toBeNull()
    const started = await start(files)
    expect(started.refused).not.toBeNull()
    expect(signedNow(started)).toEqual([])
  })
})

describe.each(['every-denial-removed', 'every-event-removed', 'all-but-three-capsules-removed'])(
  '%s',
  (name) => {
    const ways = LINES_CHANGED.filter((each) => each.name.startsWith(`${name}, `))
    it.each(ways.map((each) => each.name))(
      '%s: verify fails, and no gate serves it',
      async (way) => {
        const files = apply(operation(LINES_CHANGED, way), '')
        expect(await verify.judge(files)).toBeNull()
        const started = await start(files)
        // Lines that were left as they are break the chain before the snapshot: readiness goes off behind the start.
        if (way.endsWith('as it is')) {
          expect(started.refused !== null || started.told.includes('journal_damaged')).toBe(true)
        } else expect(started.refused).not.toBeNull()
        expect(signedNow(started)).toEqual([])
      },
    )
  },
)
