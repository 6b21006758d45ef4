import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { behindGate, stopGates, WAYS, type Way } from '../support/mcp/behind-gate.js'
import { frontOf } from '../support/mcp/conformance/front.js'
import { conformance, type Report } from '../support/mcp/conformance/run.js'
import {
  type Link,
  type Running,
  runningOf,
  startHttpServer,
  stdioServer,
} from '../support/mcp/servers.js'

/**
 * The protocol's own conformance suite, against servers directly and behind the gate: no check may succeed without
 * the gate and not with it. The first server has every tool the suite calls and passes all of it.
 */
const SERVER = join(import.meta.dirname, '..', 'support', 'mcp', 'conformance', 'server.mjs')

const REVISIONS = {
  '2025-06-18': ['--suite', 'all', '--spec-version', '2025-06-18'],
  '2025-11-25': ['--requirements', '2025-11-25'],
  '2026-07-28': ['--requirements', '2026-07-28'],
} as const
type Revision = keyof typeof REVISIONS

const LONGEST_MS = 120_000
const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
const running = new Map<string, Running>()

beforeAll(async () => {
  running.set('conformance', await runningOf([SERVER], {}))
  running.set('everything', await startHttpServer('everything'))
})
afterAll(async () => {
  // The servers end whether or not the gates do.
  for (const server of running.values()) await server.stop()
  rmSync(folder, { recursive: true, force: true })
  await stopGates()
})

const urlOf = (name: string): string => `http://127.0.0.1:${running.get(name)?.port}/mcp`
const check = (url: string, revision: Revision): Promise<Report> =>
  conformance(url, REVISIONS[revision], LONGEST_MS)

/** The suite can send no token of an agent, so it comes through a front that adds it. */
async function checkBehind(name: string, way: Way, revision: Revision): Promise<Report> {
  const server: Link =
    way.server === 'http' ? { via: 'http', url: urlOf(name) } : stdioServer('everything', folder)
  const { link } = await behindGate(name, server, 'http')
  if (link.via !== 'http') throw new Error('the gate is not reached over HTTP')
  const front = await frontOf(link.url, link.headers ?? {})
  try {
    return await check(front.url, revision)
  } finally {
    await front.close()
  }
}

const failed = (report: Report): string[] =>
  [...report].flatMap(([scenario, checks]) =>
    [...checks]
      .filter(([, outcome]) => outcome.startsWith('FAILURE'))
      .map(([id, outcome]) => `${scenario} / ${id}: ${outcome}`),
  )

/**
 * What succeeded without the gate and does not behind it: a check, or a scenario as a whole. Some checks are made only
 * of servers that stream, so one that is no longer made is no loss while the scenario passes.
 */
function lost(direct: Report, behind: Report): string[] {
  const passes = (checks: ReadonlyMap<string, string>): boolean =>
    ![...checks.values()].some((outcome) => outcome.startsWith('FAILURE'))
  return [...direct].flatMap(([scenario, before]) => {
    const after = behind.get(scenario)
    if (after === undefined) return [`${scenario}: was not run`]
    return [...after]
      .filter(([id, outcome]) => {
        const gone = before.get(id) === 'SUCCESS' && outcome !== 'SUCCESS'
        return gone || (passes(before) && outcome.startsWith('FAILURE'))
      })
      .map(([id, outcome]) => `${scenario} / ${id}: ${outcome}`)
  })
}

const CASES: readonly (readonly [string, Revision])[] = [
  ['conformance', '2025-06-18'],
  ['conformance', '2025-11-25'],
  ['conformance', '2026-07-28'],
  ['everything', '2025-11-25'],
]

describe.each(CASES)('the %s server, revision %s', (name, revision) => {
  let direct: Report
  beforeAll(async () => {
    direct = await check(urlOf(name), revision)
  }, LONGEST_MS)

  it('conforms without the gate, as far as it does', () => {
    expect(direct.size).toBeGreaterThan(20)
    if (name === 'conformance') expect(failed(direct)).toEqual([])
  })

  const ways = WAYS.filter(({ client, server }) => {
    // Only the other server is at hand as a command.
    return client === 'http' && (server === 'http' || name === 'everything')
  })
  it.each(ways)(
    'conforms as much behind the gate that reaches it over $server',
    async (way) => {
      expect(lost(direct, await checkBehind(name, way, revision))).toEqual([])
    },
    LONGEST_MS,
  )
})
