/** What calls under way may keep in memory at once: request bodies per agent, held responses in all. */
export type Memory = {
  /** Room for one request's body, out of its agent's share; none is taken yet. */
  bodyOf(agent: string): BodyRoom
  /** Room for a response that is to be held; null when there is none left. */
  hold(octets: number): Held | null
}
export type BodyRoom = {
  /** False: the agent's share is used up, and nothing was taken. */
  take(octets: number): boolean
  giveBack(): void
}
export type Held = {
  /** The response turned out to be shorter. */
  shrinkTo(octets: number): void
  letGo(): void
}
export type MemoryLimits = { readonly agentBodyBytes: number; readonly heldBytes: number }

export const DEFAULT_MEMORY: MemoryLimits = {
  agentBodyBytes: 64 * 1024 * 1024,
  heldBytes: 256 * 1024 * 1024,
}

export function createMemory({ agentBodyBytes, heldBytes }: MemoryLimits): Memory {
  const bodies = new Map<string, number>()
  const responses: Account = { taken: 0, most: heldBytes }
  return {
    bodyOf: (agent) => new AgentBody(bodies, agent, agentBodyBytes),
    hold(octets) {
      if (responses.taken + octets > responses.most) return null
      responses.taken += octets
      return new ResponseRoom(responses, octets)
    },
  }
}

type Account = { taken: number; readonly most: number }

// Classes, because every call makes one of each and closures would cost it more.
class AgentBody implements BodyRoom {
  /** Agents with bodies in flight only. */
  readonly #bodies: Map<string, number>
  readonly #agent: string
  readonly #most: number
  #own = 0

  constructor(bodies: Map<string, number>, agent: string, most: number) {
    this.#bodies = bodies
    this.#agent = agent
    this.#most = most
  }

  take(octets: number): boolean {
    const now = (this.#bodies.get(this.#agent) ?? 0) + octets
    if (now > this.#most) return false
    this.#bodies.set(this.#agent, now)
    this.#own += octets
    return true
  }

  giveBack(): void {
    if (this.#own === 0) return
    const left = (this.#bodies.get(this.#agent) ?? 0) - this.#own
    this.#own = 0
    if (left > 0) this.#bodies.set(this.#agent, left)
    else this.#bodies.delete(this.#agent)
  }
}

class ResponseRoom implements Held {
  readonly #responses: Account
  #own: number

  constructor(responses: Account, own: number) {
    this.#responses = responses
    this.#own = own
  }

  shrinkTo(octets: number): void {
    if (octets >= this.#own) return
    this.#responses.taken -= this.#own - octets
    this.#own = octets
  }

  letGo(): void {
    this.shrinkTo(0)
  }
}
