import { type Bounds, readBounds } from '../../core/approval/bounds.js'
import { hollowBounds } from '../../core/approval/hollow-bounds.js'
import { boundsContext } from '../../core/journal/encryption-context.js'
import type { Approval } from '../../ports/state.js'
import type { Constrained, Item, Parts } from '../context.js'
import { saltedPart } from '../evidence/parts.js'
import { signed } from '../signed-event.js'
import { brokenBy } from './find.js'

/** For one agent and tool, within bounds, for a limited time; never implied by an approval. */
export type StandingOrder = {
  readonly agent: string
  readonly tool: string
  readonly bounds: Bounds
  readonly expiresAt: string
  readonly uses: number
  /** The authenticated person who gives it. */
  readonly by: string
}
export type StandingIssued =
  | { readonly kind: 'issued'; readonly grant: string }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }

const YEAR_MS = 366 * 24 * 60 * 60 * 1000

export async function issueStanding(order: StandingOrder, parts: Parts): Promise<StandingIssued> {
  const problems = problemsOf(order, parts)
  if (problems.length > 0) return { kind: 'refused', problems }
  const { journal, evidence } = parts
  const grant = parts.ids.actionId()
  const { agent, tool, bounds, expiresAt, uses, by } = order
  const at = journal.timestamp()
  const part = saltedPart('vote', 'standing', { grant, by, agent, tool, bounds, uses }, parts)
  const { operator } = parts.world()
  await evidence.put({ actionId: grant, operator, subject: null, at, parts: [part] })
  const position = boundsContext({ grant, agent, tool })
  const sealed_bounds = parts.tenant.bounds.encrypt(JSON.stringify(bounds), position)
  await journal.append([
    signed(
      'GRANT_ISSUED',
      {
        grant,
        standing: true,
        agent,
        tool,
        sealed_bounds,
        expires_at: new Date(Date.parse(expiresAt)).toISOString(),
        uses,
        voter: parts.tenant.voter(by),
        evidence_digest: part.digest,
      },
      parts,
    ),
  ])
  return { kind: 'issued', grant }
}

/** The caller then raises the generation, so that calls not yet sent are stopped too (promise 5). */
export async function revokeStanding(grant: string, by: string, parts: Parts): Promise<void> {
  const voter = parts.tenant.voter(by)
  await parts.journal.append([signed('GRANT_REVOKED', { grant, voter }, parts)])
}

function problemsOf(order: StandingOrder, parts: Parts): readonly string[] {
  const { router, operator } = parts.world()
  const rule = router.byTool.get(order.tool)?.[0]?.rule
  if (rule === undefined) return [`there is no tool ${order.tool}`]
  const problems: string[] = []
  const until = Date.parse(order.expiresAt)
  const now = parts.clock.now()
  if (!(until > now && until <= now + YEAR_MS)) problems.push('it ends within a year from now')
  if (!Number.isSafeInteger(order.uses) || order.uses < 1) problems.push('it has a number of uses')
  if (order.by === '' || order.by === order.agent) problems.push('another than the agent gives it')
  const read = readBounds(order.bounds, rule)
  if (!read.ok) return [...problems, ...read.problems]
  const of = { rule, agent: order.agent, operator }
  return [...problems, ...hollowBounds(read.constraints, of, parts.crypto)]
}

/** The first standing grant whose bounds this call keeps; a call under it runs by policy (promise 4). */
export async function findStanding(
  known: Constrained,
  asked: Approval | null,
  parts: Parts,
): Promise<Item | null> {
  const { agent, rule } = known
  const grants = await parts.state.standing(agent.agent, rule.tool, Date.parse(known.at))
  const grant = grants.find(({ bounds }) => brokenBy([bounds], known, parts) === null)
  if (grant === undefined) return null
  const part = saltedPart(
    'approval',
    'standing',
    {
      constraint: 'dev.capsulegate.approval',
      grant: grant.grant,
      bounds: grant.bounds,
      expires_at: grant.expiresAt,
      uses_left: grant.usesLeft,
    },
    parts,
  )
  const run = { by: { kind: 'grant', authority: grant.grant }, part } as const
  return { kind: 'standing', grant: grant.grant, run, asked }
}
