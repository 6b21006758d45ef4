import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { behindGate, stopGates, type Way } from './behind-gate.js'
import { type ClientName, connect } from './clients.js'
import { createHands } from './hands.js'
import type { Outcome } from './scenario.js'
import { perform, SCENARIOS } from './scenarios.js'
import {
  type Link,
  type Running,
  type ServerName,
  startHttpServer,
  stdioServer,
  type Via,
} from './servers.js'

/** A client with a server, directly or on a way through the gate. */
export type Pair = {
  readonly server: ServerName
  readonly client: ClientName
  readonly via: Via
  readonly way: Way | null
}

export type Ran =
  | {
      readonly met: true
      readonly outcomes: ReadonlyMap<string, Outcome>
      readonly capsules: number | null
    }
  | { readonly met: false; readonly why: string }

export type Runs = {
  /** Begins with all of them, a few at a time: mostly they wait for the servers. */
  begin(pairs: readonly Pair[]): Promise<void>
  of(pair: Pair): Promise<Ran>
  stop(): Promise<void>
}

export const nameOf = ({ server, client, via, way }: Pair): string =>
  way === null
    ? `${server} over ${via}, ${client}`
    : `${server} over ${via} behind the gate over ${way.client}, ${client}`

const AT_ONCE = 6
const LONG_MS = 8_000
const SHORT_MS = 500

/** `hopeless` names the scenarios for which it is no use to wait long. */
export function createRuns(hopeless: (pair: Pair) => readonly string[]): Runs {
  const folder = mkdtempSync(join(tmpdir(), 'side-by-side-'))
  const servers = new Map<ServerName, Running>()
  const runs = new Map<string, Promise<Ran>>()
  let workers: Promise<void>[] = []

  async function run(pair: Pair): Promise<Ran> {
    const own = mkdtempSync(join(folder, 'run-'))
    const direct: Link =
      pair.via === 'stdio'
        ? stdioServer(pair.server, own)
        : { via: 'http', url: `http://127.0.0.1:${servers.get(pair.server)?.port}/mcp` }
    const vain = hopeless(pair)
    try {
      const gated =
        pair.way === null ? null : await behindGate(pair.server, direct, pair.way.client)
      const hands = createHands([{ uri: pathToFileURL(own).href, name: 'work' }])
      const client = await connect(pair.client, gated?.link ?? direct, hands)
      const outcomes = await perform(SCENARIOS[pair.server], client, ({ name }) => ({
        folder: own,
        patience: vain.includes(name) ? SHORT_MS : LONG_MS,
      }))
      await client.close()
      return { met: true, outcomes, capsules: (await gated?.capsules()) ?? null }
    } catch (error) {
      return { met: false, why: error instanceof Error ? error.message : String(error) }
    }
  }

  return {
    begin: async (pairs) => {
      servers.set('everything', await startHttpServer('everything'))
      servers.set('modern', await startHttpServer('modern'))
      const waiting = pairs.map((pair) => {
        let settle: (ran: Ran) => void = () => {}
        runs.set(nameOf(pair), new Promise((resolve) => (settle = resolve)))
        return async () => settle(await run(pair))
      })
      const work = async (): Promise<void> => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next()
      }
      workers = Array.from({ length: AT_ONCE }, work)
    },
    of: (pair) =>
      runs.get(nameOf(pair)) ?? Promise.reject(new Error(`${nameOf(pair)} is not among the runs`)),
    stop: async () => {
      await Promise.all(workers)
      // The servers end whether or not the gates do.
      for (const server of servers.values()) await server.stop()
      rmSync(folder, { recursive: true, force: true })
      await stopGates()
    },
  }
}
