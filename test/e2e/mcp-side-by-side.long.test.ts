import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WAYS } from '../support/mcp/behind-gate.js'
import { CLIENTS } from '../support/mcp/clients.js'
import { createRuns, nameOf, type Pair, type Ran } from '../support/mcp/runs.js'
import type { Outcome } from '../support/mcp/scenario.js'
import { SCENARIOS } from '../support/mcp/scenarios.js'
import { SERVERS, type ServerName } from '../support/mcp/servers.js'

/**
 * What works without the gate works with it: unmodified clients do the same things with the same servers, directly
 * and through the gate, and must see the same.
 */
const NAMES = Object.keys(SERVERS) as ServerName[]

const DIRECT: readonly Pair[] = NAMES.flatMap((server) =>
  SERVERS[server].flatMap((via) => CLIENTS.map((client) => ({ server, client, via, way: null }))),
)

const GATED: readonly Pair[] = WAYS.flatMap((way) =>
  DIRECT.filter(({ via }) => via === way.server).map((pair) => ({ ...pair, way })),
)

/** A client that is held to the newest revision cannot talk to a server that does not know it. */
const areStrangers = ({ server, client }: Pair): boolean =>
  client === 'client pinned' && server !== 'modern'

/** Over HTTP the modern server forgets older clients between their requests: it can neither ask nor tell them. */
const FORGOTTEN = [
  'elicitation form',
  'elicitation declined',
  'elicitation url',
  'sampling',
  'roots',
  'prompt that asks',
  'subscribe',
  'list changed',
]

/** The scenarios that do not work without the gate. */
function notWithout({ server, client, via }: Pair): readonly string[] {
  if (via === 'stdio') return []
  // It tells this before the client has begun to listen.
  if (server === 'everything') return ['list changed at the start']
  return client === 'sdk' || client === 'client' ? FORGOTTEN : []
}

const TIMEOUT_MS = 150_000
const runs = createRuns(notWithout)

beforeAll(() => runs.begin([...DIRECT, ...GATED]), TIMEOUT_MS)
afterAll(() => runs.stop(), TIMEOUT_MS)

const whyNot = (ran: Ran): string | null => (ran.met ? null : ran.why)

async function outcomeOf(pair: Pair, scenario: string): Promise<Outcome> {
  const ran = await runs.of(pair)
  if (!ran.met) return { works: false, why: ran.why }
  return ran.outcomes.get(scenario) ?? { works: false, why: 'it was not tried' }
}

for (const gated of GATED) {
  // A server started by the gate is reached as no client could reach it directly: any direct way will do.
  const direct = DIRECT.filter(
    ({ server, client, via }) =>
      server === gated.server &&
      client === gated.client &&
      (via === gated.via || via === gated.way?.client),
  )

  describe(nameOf(gated), () => {
    if (areStrangers(gated)) {
      it(
        'cannot talk to it, as without the gate',
        async () => {
          const without = await Promise.all(direct.map((pair) => runs.of(pair)))
          expect(without.map(whyNot)).toContain(whyNot(await runs.of(gated)))
          expect(without.map(({ met }) => met)).not.toContain(true)
        },
        TIMEOUT_MS,
      )
      return
    }

    for (const { name } of SCENARIOS[gated.server]) {
      const known = direct.every((pair) => notWithout(pair).includes(name))
      it(
        known ? `does not work without the gate: ${name}` : name,
        async () => {
          const without = await Promise.all(direct.map((pair) => outcomeOf(pair, name)))
          const behind = await outcomeOf(gated, name)
          expect(without.some(({ works }) => works)).toBe(!known)
          // What failed may work behind the gate, which can keep what the server forgets; else it fails alike.
          if (!known || !behind.works) expect(without).toContainEqual(behind)
        },
        TIMEOUT_MS,
      )
    }

    it(
      'went through the gate',
      async () => {
        const ran = await runs.of(gated)
        expect(whyNot(ran)).toBeNull()
        if (ran.met && ran.capsules !== null) expect(ran.capsules).toBeGreaterThan(0)
      },
      TIMEOUT_MS,
    )
  })
}
