import type { LineOf } from '../../journal/vocabulary.js'
import type { Findings } from '../finding.js'
import { type Concluded, detached } from './line.js'

type Vote = Pick<LineOf<'APPROVAL_VOTED'>, 'voter' | 'outcome' | 'document_digest'>
type Asked = {
  readonly approvalId: string
  readonly quorum: number
  readonly document: string
  readonly request: string
  readonly votes: Vote[]
}
/** A capsule that says a person decided, until its batch ends. */
type Claimed = { readonly capsule: Concluded; readonly asked: Asked | undefined; closed: boolean }

/**
 * A human is a human (promise 4): every `human_disposed: true` stands on signed votes of persons, as many as its
 * quorum, for that outcome, on the capsule it supersedes, under the document they were shown. Of an approval that
 * is over nothing is kept.
 */
export function createHumans(
  /** False when the lines before the first one are not here. */
  fromStart: () => boolean,
) {
  /** Open requests by the capsule that the next one supersedes. */
  const open = new Map<string, Asked>()
  /** Likewise, of this batch. */
  const claimed = new Map<string, Claimed>()
  let begunBefore = 0
  let closedUnsigned = 0

  function check({ capsule, asked, closed }: Claimed, findings: Findings): void {
    const { seq, v, verdict, effect, supersedes } = capsule
    if (asked === undefined) {
      if (verdict === 'resolved' && closed) return
      if (verdict === 'resolved' && v === 1) closedUnsigned++
      else if (!fromStart()) begunBefore++
      else
        findings.fault(
          'human_without_request',
          `seq ${seq}: no person was asked about ${supersedes ?? 'anything'}`,
        )
      return
    }
    const { resumed } = capsule
    const outcome = effect || resumed ? 'approve' : verdict === 'deferred' ? 'defer' : 'deny'
    const needed = outcome === 'approve' ? asked.quorum : 1
    const voters = new Set(
      asked.votes
        .filter((vote) => vote.outcome === outcome && vote.document_digest === asked.document)
        .map(({ voter }) => voter),
    )
    if (voters.size < Math.max(1, needed))
      findings.fault(
        'human_without_votes',
        `seq ${seq}: ${voters.size} of ${needed} persons said ${outcome} under the document they were shown`,
      )
    if (effect && capsule.requestDigest !== asked.request)
      findings.fault('human_request_mismatch', `seq ${seq}: another request was approved`)
  }

  function settle(findings: Findings): void {
    for (const each of claimed.values()) check(each, findings)
    claimed.clear()
  }

  return {
    opened(line: LineOf<'APPROVAL_OPENED'>): void {
      open.set(detached(line.capsule_id), {
        approvalId: detached(line.approval_id),
        quorum: line.quorum,
        document: detached(line.document_digest),
        request: detached(line.request_digest),
        votes: [],
      })
    },
    voted(line: LineOf<'APPROVAL_VOTED'>): void {
      const { approval_id, on, by, voter, outcome, document_digest } = line
      if (by !== 'person') return
      // What was sent had its votes before; a refusal, a deferral and a resumption bring theirs along.
      const ended = claimed.get(on)
      const brings = outcome !== 'approve' || ended?.capsule.resumed === true
      const asked = open.get(on) ?? (brings ? ended?.asked : undefined)
      if (asked?.approvalId !== approval_id) return
      asked.votes.push({
        voter: detached(voter),
        outcome,
        document_digest: detached(document_digest),
      })
    },
    closed({ on }: LineOf<'ITEM_CLOSED'>): void {
      const closing = claimed.get(on)
      if (closing !== undefined) closing.closed = true
    },
    concluded(capsule: Concluded, findings: Findings): void {
      const { supersedes, verdict, id, human, v } = capsule
      // Version 1 has no batches to wait for: what belongs to a capsule stands directly behind it.
      if (v === 1 || claimed.has(supersedes ?? '')) settle(findings)
      const asked = supersedes === null ? undefined : open.get(supersedes)
      if (supersedes !== null) open.delete(supersedes)
      if (asked !== undefined && id !== null && (verdict === 'deferred' || verdict === 'escalated'))
        open.set(detached(id), { ...asked, votes: [] })
      if (human)
        claimed.set(detached(supersedes ?? ''), { capsule: own(capsule), asked, closed: false })
    },
    /** The end of a batch: a refusal's vote stands behind its capsule, in the same batch. */
    settle,
    /** Decided here, asked in lines that are not here. */
    begunBefore: (): number => begunBefore,
    /** Blocked items that version 1 closed on a person's decision without a line of its own for it. */
    closedUnsigned: (): number => closedUnsigned,
  }
}

const own = (capsule: Concluded): Concluded => ({
  ...capsule,
  id: null,
  actionId: null,
  verdict: capsule.verdict === null ? null : detached(capsule.verdict),
  requestDigest: capsule.requestDigest === null ? null : detached(capsule.requestDigest),
  supersedes: capsule.supersedes === null ? null : detached(capsule.supersedes),
})
