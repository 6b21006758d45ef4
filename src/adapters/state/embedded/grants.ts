import type { Bounds } from '../../../core/approval/bounds.js'
import type { GrantLine } from '../../../core/journal/lines/approval.js'
import type { Conflict, ReserveRequest, StandingGrant } from '../../../ports/state.js'
import type { Dump } from './dump.js'
import type { StandingLine } from './encrypted.js'
import { sortedValues, sweeper } from './maps.js'

/** A grant, and how often it was spent: by lines, and by reservations that have no line yet. */
type Known = {
  readonly line: GrantLine
  /** Of a standing grant, in clear. */
  readonly bounds: Bounds | null
  readonly until: number
  spent: number
  held: number
}
export type Grants = ReturnType<typeof createGrants>
type Refusal = Extract<Conflict, { kind: 'grant' }>['why']

/** `keepMs`: how long an expired grant is kept, so that a late retry is refused as `expired`, not as `unknown`. */
export function createGrants(keepMs: number) {
  const grants = new Map<string, Known>()
  const gone = ({ until }: Known, time: number): boolean => until + keepMs <= time
  const add = (line: GrantLine, bounds: Bounds | null, spent: number): void => {
    grants.set(line.grant, { line, bounds, until: Date.parse(line.expires_at), spent, held: 0 })
  }
  const count = (grant: string, field: 'spent' | 'held', by: 1 | -1): void => {
    const known = grants.get(grant)
    // A grant that was revoked and issued again under its id has no earlier holds.
    if (known !== undefined) known[field] = Math.max(0, known[field] + by)
  }
  return {
    /** Null when the grant may be spent on this request now. */
    refusal(grant: string, request: ReserveRequest): Refusal | null {
      const known = grants.get(grant)
      if (known === undefined) return 'unknown'
      const { line, until, spent, held } = known
      if (line.agent !== request.agent) return 'mismatch'
      if (line.standing !== true && line.request_digest !== request.requestDigest) return 'mismatch'
      // Written so that an unreadable expiry refuses too.
      if (!(request.at < until)) return 'expired'
      return spent + held < line.uses ? null : 'spent'
    },
    /** Those of the agent for the tool that may be spent at that time, in the order they were given. */
    standing(agent: string, tool: string, at: number): StandingGrant[] {
      const out: StandingGrant[] = []
      for (const { line, bounds, until, spent, held } of grants.values()) {
        if (line.standing !== true || bounds === null || line.agent !== agent || line.tool !== tool)
          continue
        const usesLeft = line.uses - spent - held
        if (!(at < until) || usesLeft < 1) continue
        const { grant, expires_at: expiresAt } = line
        out.push({ grant, agent, tool, bounds, expiresAt, usesLeft })
      }
      return out
    },
    /** Those of all agents that may be spent at that time. */
    allStanding(at: number): StandingGrant[] {
      const owners = new Map<string, { agent: string; tool: string }>()
      for (const { line } of grants.values()) {
        if (line.standing === true) owners.set(`${line.agent}\0${line.tool}`, line)
      }
      return [...owners.values()].flatMap(({ agent, tool }) => this.standing(agent, tool, at))
    },
    find: (grant: string): GrantLine | null => grants.get(grant)?.line ?? null,
    hold: (grant: string) => count(grant, 'held', 1),
    unhold: (grant: string) => count(grant, 'held', -1),
    spend: (grant: string) => count(grant, 'spent', 1),
    giveBack: (grant: string) => count(grant, 'spent', -1),
    issue: (line: GrantLine, bounds: Bounds | null) => add(line, bounds, 0),
    revoke: (grant: string) => grants.delete(grant),
    sweep: sweeper(grants, gone),
    dump: (time: number): Dump['grants'] =>
      sortedValues(grants)
        .filter((grant) => !gone(grant, time))
        .map(({ line, spent }) => [line, spent] as const),
    load(dump: Dump['grants'], boundsOf: (line: StandingLine) => Bounds | null): void {
      grants.clear()
      for (const [line, spent] of dump) {
        add(line, line.standing === true ? boundsOf(line) : null, spent)
      }
    },
  }
}
