import { quoted, visible } from '../../core/approval/show.js'
import type { Approval } from '../../ports/state.js'
import { type Html, html } from './html.js'

/** Never a time without its zone. */
export const time = (at: string): Html =>
  html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>`

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** The two largest units: `1 h 4 min`; what is past is `0 s`. */
export function left(ms: number): string {
  let seconds = Math.max(0, Math.floor(ms / 1000))
  const said: string[] = []
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size)
    seconds -= count * size
    if (count > 0 || said.length > 0) said.push(`${count} ${unit}`)
  }
  return said.length === 0 ? '0 s' : said.slice(0, 2).join(' ')
}

/** What a request is about, as its heading and in lists. */
export const titleOf = ({ tool, agent, holds }: Approval): string =>
  holds === 'session'
    ? `Stopped session of ${quoted(agent)}, at ${visible(tool)}`
    : `${visible(tool)}, asked by ${quoted(agent)}`

/** How a request stands, in the words people know from other reviews. */
export function standing(approval: Approval): string {
  const { state, decided, votes, hitl, deadline, holds } = approval
  switch (state.kind) {
    case 'approved':
      return 'Approved; waiting for the call to be sent'
    case 'pending':
      if (votes.length > 0) return `Waiting: ${votes.length} of ${hitl.quorum} approved`
      return decided === null && deadline.onExpiry !== 'expired' ? 'Waiting' : 'Postponed'
    case 'closed':
      return holds === 'session' ? endedSession(approval, state) : ended(state)
  }
}

type Closed = Extract<Approval['state'], { kind: 'closed' }>

function endedSession({ decided }: Approval, { verdict }: Closed): string {
  if (verdict === 'resolved') {
    return decided?.outcome === 'approve' ? 'The session goes on' : 'The session was ended'
  }
  return 'Over: not decided in time, and the session ended'
}

function ended({ verdict, approver }: Closed): string {
  switch (verdict) {
    case 'executed':
      return 'Approved and sent'
    case 'resolved':
      return approver === 'human' ? 'Refused' : 'Withdrawn, or refused by a program'
    case 'timeout':
      return 'Over: not decided, or not used, in time'
    case 'expired':
      return 'Over: postponed and not decided in time'
    case 'denied':
    case 'blocked':
      return 'Not sent: policy or a constraint forbade it in the end'
    default:
      return `Ended: ${verdict}`
  }
}
