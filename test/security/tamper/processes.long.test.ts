import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CANARY } from '../../../src/gate/operate/canary.js'
import { cli } from '../../cli/support.js'
import { draws } from '../../support/draws.js'
import { again, type Case, RUNS_ALL } from './cases.js'
import { startCases } from './drawn-cases.js'
import { type Files, HEAD_FILE, journalOf, quickFolder, readFolder, writeFolder } from './folder.js'
import type { World } from './operations/operation.js'
import { type Row, rowsOf } from './rows.js'
import { MANIFEST, POLICIES } from './shop.js'
import { makeWorld } from './world.js'

/** The same as a user would meet it: `serve` in a process of its own, on a folder that was changed. */
const MAIN = join(import.meta.dirname, '..', '..', '..', 'dist', 'cli', 'main.js')
const PROCESSES = draws(50, 12)
const AT_ONCE = 2
/** Only a start that never comes, or one that tells nothing, takes so long. */
const DEADLINE_MS = 100_000

let world: World
let root = ''
beforeAll(async () => {
  world = await makeWorld()
  root = quickFolder('processes')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Served = { readonly code: number | null; readonly said: string; readonly serves: boolean }

/** Runs until it ends, or serves and has told something of its journal; `quiet` waits for nothing to be told. */
async function serve(dir: string, quiet: boolean): Promise<Served> {
  const args = ['serve', '--config', join(dir, 'gate.yaml'), '--data', join(dir, 'data')]
  const child = spawn(process.execPath, [MAIN, ...args, '--port', '0', '--admin-port', '0'])
  let said = ''
  const serves = (): boolean => said.includes('agents connect to')
  const ended = once(child, 'exit')
  const enough = new Promise<void>((resolve) => {
    const hear = (text: Buffer): void => {
      said += text.toString()
      if (serves() && (quiet || tells(said))) resolve()
    }
    child.stderr.on('data', hear)
    child.stdout.on('data', hear)
    child.on('exit', () => resolve())
    setTimeout(resolve, DEADLINE_MS).unref()
  })
  await enough
  child.kill('SIGTERM')
  const [code] = await ended
  return { code, said, serves: serves() }
}

/** Something about the journal; its newest head is told at every stop. */
const tells = (said: string): boolean => /"journal_(?!head")/.test(said)

let made = 0
function folderOf(files: Files): string {
  const dir = join(root, String(made++))
  writeFolder(dir, files)
  mkdirSync(join(dir, 'manifests'))
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'manifests', 'shop.yaml'), MANIFEST)
  writeFileSync(join(dir, 'policies', 'shop.cedar'), POLICIES)
  writeFileSync(
    join(dir, 'gate.yaml'),
    'operator: acme\nupstream: http://127.0.0.1:9\nagents: {support-bot: {token_sha256: ' +
      `"${'0'.repeat(64)}"}}\njournal: {head_file: ${join(dir, HEAD_FILE)}}\n`,
  )
  return dir
}

/** Capsules of this start, in none of the lines it found, that the honest lines before it do not explain. */
function unexplained(
  before: readonly Row[],
  after: readonly Row[],
  found: readonly Row[] = before,
): readonly string[] {
  const known = new Set(before.map(({ text }) => text))
  const given = new Set(found.map(({ text }) => text))
  const kept = after.filter(({ text }) => known.has(text)).map(({ text }) => text)
  const concluded = before.filter(({ type }) => type === 'CAPSULE').map(({ text }) => text)
  return after
    .filter(({ type, text }) => type === 'CAPSULE' && !known.has(text) && !given.has(text))
    .filter(({ text }) => !text.includes(`"developer":"${CANARY}"`))
    .map(({ text }) => (JSON.parse(text) as { capsule: Made }).capsule)
    .filter(({ action_id, chain }) => {
      const parent = chain?.parent_capsule_id
      const ends =
        parent !== undefined && kept.some((text) => text.includes(`"capsule_id":"${parent}"`))
      const open = kept.some((text) =>
        text.includes(`"type":"ACTION_DISPATCHED","action_id":"${action_id}"`),
      )
      // What was concluded once is not concluded again, wherever the line went.
      return (
        !(ends || open) || concluded.some((text) => text.includes(`"action_id":"${action_id}"`))
      )
    })
    .map(({ action_id }) => action_id)
}
type Made = { readonly action_id: string; readonly chain?: { readonly parent_capsule_id?: string } }

async function judge({ files }: Pick<Case, 'files'>): Promise<string | null> {
  const dir = folderOf(files)
  const { code, said, serves } = await serve(dir, false)
  const after = readFolder(dir)
  rmSync(dir, { recursive: true, force: true })
  if (!serves && code === 0) return 'it ends without a word'
  if (!serves && !said.includes(dir)) return `it does not start and names no file: ${said}`
  if (serves && !tells(said)) return 'it serves and tells nothing'
  // Damage may be found behind a start that has written its first lines.
  const before = journalOf(files)
  if (!serves && !journalOf(after).subarray(0, before.length).equals(before)) {
    return 'it does not start, and lines changed'
  }
  if (/forged-[0-9a-f]{40}/.test(journalOf(serves ? after : new Map()).toString('latin1'))) {
    return 'it serves with an invented line'
  }
  const added = journalOf(after).length > before.length || serves
  const [honest, found] = [rowsOf(world.story.files) ?? [], rowsOf(files) ?? []]
  const strange = added ? unexplained(honest, rowsOf(after) ?? [], found) : []
  return strange.length === 0 ? null : `it signed capsules of ${strange.join(', ')}`
}

describe('serve', () => {
  it('starts on the folder as it was left, and has nothing to tell of it', async () => {
    const dir = folderOf(world.story.files)
    const { said, serves } = await serve(dir, true)
    expect([serves, tells(said)]).toEqual([true, false])
    const after = rowsOf(readFolder(dir)) ?? []
    expect(unexplained(rowsOf(world.story.files) ?? [], after)).toEqual([])
    const args = ['--data', join(dir, 'data'), '--head', join(dir, HEAD_FILE)]
    expect((await cli(['ledger', 'verify', '--evidence', ...args])).code).toBe(0)
  }, 120_000)

  it(`on ${PROCESSES} folders that were changed does not start, or says so, and signs nothing new`, async () => {
    const all = [...startCases(world)]
    const step = Math.max(1, Math.floor(all.length / PROCESSES))
    const chosen = all.filter((_, index) => index % step === 0).slice(0, PROCESSES)
    const faults: string[] = []
    let served = 0
    const next = chosen[Symbol.iterator]()
    const work = async (): Promise<void> => {
      for (let item = next.next(); item.done !== true; item = next.next()) {
        const fault = await judge(item.value)
        served++
        if (fault !== null) faults.push(`${fault}\n    ${again(item.value.name)}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    process.stdout.write(`tamper: processes: ${served} cases\n`)
    expect(faults).toEqual([])
    if (RUNS_ALL) expect(served).toBe(PROCESSES)
  }, 300_000)
})
