import type { McpClient } from './client.js'
import { normalise } from './normalise.js'
import { errorOf, type Outcome, type Place, type Scenario } from './scenario.js'
import { EVERYTHING } from './scenarios-everything.js'
import { FILESYSTEM } from './scenarios-filesystem.js'
import { MODERN } from './scenarios-modern.js'
import type { ServerName } from './servers.js'

export const SCENARIOS: Readonly<Record<ServerName, readonly Scenario[]>> = {
  everything: EVERYTHING,
  filesystem: FILESYSTEM,
  modern: MODERN,
}

const LONGEST_MS = 30_000

/** One after the other on one connection, as a client would; a scenario that hangs is one that does not work. */
export async function perform(
  scenarios: readonly Scenario[],
  client: McpClient,
  at: (scenario: Scenario) => Place,
): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  for (const scenario of scenarios) {
    const place = at(scenario)
    client.hands.action = 'accept'
    client.hands.asked.length = 0
    let late: NodeJS.Timeout | undefined
    try {
      const saw = await Promise.race([
        scenario.run(client, place),
        new Promise((_, reject) => {
          late = setTimeout(() => reject(new Error('it did not end')), LONGEST_MS)
        }),
      ])
      outcomes.set(scenario.name, { works: true, saw: normalise(saw, place.folder) })
    } catch (error) {
      outcomes.set(scenario.name, { works: false, why: normalise(errorOf(error), place.folder) })
    } finally {
      clearTimeout(late)
    }
  }
  return outcomes
}
