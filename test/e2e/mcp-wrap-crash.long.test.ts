import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from '@jest/globals'
import { membersOf } from '../../src/core/json/spans.js'
import { sample } from '../support/draws.js'
import {
  capsulesOf,
  type Rpc,
  scripted,
  verified,
  type Wrapped,
  workshop,
} from '../support/mcp/wrapped.js'

/** kill -9 of gate, server or client at each seam of a call: DESIGN §2 holds whoever is gone. */
const SEAMS = [
  'before_intent',
  'after_intent',
  'before_first_byte',
  'after_last_byte',
  'before_capsule',
  'after_capsule',
]
const CASES = sample(
  ['gate', 'server', 'client'].flatMap((victim) => SEAMS.map((seam) => [victim, seam] as const)),
  9,
)
const CHILD = join(import.meta.dirname, '..', 'support', 'mcp', 'wrap-child.mjs')
/** Of calls at once; the one in the middle meets its end. The start of a gate writes one capsule of its own. */
const CALLS = 8
const HITS = 5

const { fresh, wrap, stopAll, remove } = workshop('mcp-crash-')
afterEach(stopAll)
afterAll(remove)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const octetsOf = (capsule: ReturnType<typeof capsulesOf>[number]): string | undefined =>
  capsule.effect?.['dev.capsulegate.request_octets']?.digest

/** Digests of the arguments of every call that reached a server. */
const received = (log: string): readonly string[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"method":"tools/call"'))
    .map((line) => {
      const params = membersOf(line).find(({ name }) => name === 'params')?.value ?? '{}'
      return sha256(membersOf(params).find(({ name }) => name === 'arguments')?.value ?? '')
    })

/** What the client could read of whole answers. */
function told({ lines }: Wrapped): readonly Rpc[] {
  return lines
    .map((line) => JSON.parse(line) as Rpc)
    .filter(({ id, method }) => id !== undefined && method === undefined && id !== 1)
}

it.each(CASES)(
  '%s killed at %s',
  async (victim, seam) => {
    const { data, log } = fresh()
    const one = wrap({ main: [CHILD, data, log, victim, seam, String(HITS)] })
    await one.initialize()
    const sent = Array.from({ length: CALLS }, (_, n) => ({ id: `c${n}`, args: `{"n":${n}}` }))
    for (const { id, args } of sent) {
      one.write(
        `{"jsonrpc":"2.0","id":"${id}","method":"tools/call","params":{"name":"echo","arguments":${args}}}`,
      )
    }
    if (victim === 'client') {
      await one.until(() => (one.stderr.includes(`at ${seam}`) ? true : undefined))
      for (const end of [one.child.stdin, one.child.stdout, one.child.stderr]) end?.destroy()
      writeFileSync(`${log}.gone`, '')
    }
    const { signal } = await one.exited
    expect({ seam: one.stderr, signal }).toEqual({
      seam: `at ${seam}\n`,
      signal: victim === 'gate' ? 'SIGKILL' : null,
    })
    // What the client holds in hand is on record before any restart can add to it.
    const before = new Map(capsulesOf(data).map((capsule) => [octetsOf(capsule), capsule]))
    for (const answer of told(one)) {
      const { args } = sent.find(({ id }) => id === answer.id) ?? { args: '' }
      const capsule = before.get(sha256(args))
      if (answer.result?.isError === true) continue
      expect(answer.result?.content[0].text).toBe(args)
      expect(capsule.effect.status).toBe('confirmed')
    }
    const again = wrap({ data, args: ['--name', 'server'], command: scripted(log) })
    await again.initialize()
    expect((await again.call('echo', { again: true })).result.isError).not.toBe(true)
    await again.end()

    const capsules = capsulesOf(data)
    const reached = received(log)
    const count = (digest: string): number =>
      capsules.filter((capsule) => octetsOf(capsule) === digest).length
    expect(reached.length).toBe(new Set(reached).size)
    expect(reached.map(count)).toEqual(reached.map(() => 1))
    for (const capsule of capsules) {
      if (capsule.effect?.status === 'confirmed') expect(reached).toContain(octetsOf(capsule))
    }
    // A gate that lives has a verdict for every call, sent or not.
    if (victim !== 'gate') expect(capsules.length).toBe(CALLS + 1)
    expect(verified(data)).toEqual({ status: 'valid', bad: [] })
  },
  60_000,
)
