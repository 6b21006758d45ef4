import type { Hitl } from '../manifest/model.js'

export type OnExpiry = 'timeout' | 'expired' | 'escalated'
/** As the capsule says it (DESIGN §6): counted from the capsule's own timestamp (seed §5.4). */
export type Deadline = { readonly ttl_seconds: number; readonly on_expiry: OnExpiry }

/** How a human is asked where the rule says nothing. */
export const DEFAULT_HITL: Hitl = {
  ttl_seconds: 3600,
  quorum: 1,
  roles: ['approver'],
  min_assurance: 'L1',
  on_approval: 'retry',
  ladder: [],
  reminders_seconds: [],
}

/** Rung 0 is who is asked first; each step of the ladder is the next. */
export function rolesAt({ roles, ladder }: Hitl, rung: number): readonly string[] {
  const step = rung === 0 ? undefined : ladder[rung - 1]
  return step === undefined || step.roles.length === 0 ? roles : step.roles
}

/** A rung lasts until the next step's time; the last one has the rule's own time and ends in `timeout`. */
export function deadlineAt({ ttl_seconds, ladder }: Hitl, rung: number): Deadline {
  const next = ladder[rung]
  return next === undefined
    ? { ttl_seconds, on_expiry: 'timeout' }
    : { ttl_seconds: next.after_seconds, on_expiry: 'escalated' }
}

export const expiryOf = (
  timestamp: string,
  { ttl_seconds }: Pick<Deadline, 'ttl_seconds'>,
): string => new Date(Date.parse(timestamp) + ttl_seconds * 1000).toISOString()

const WORDS: Readonly<Record<OnExpiry, string>> = {
  timeout: 'nothing is sent and the request ends as timed out',
  expired: 'nothing is sent and the request ends as expired',
  escalated: 'the request goes to the next people on the ladder; nothing is sent meanwhile',
}
export const expiryInWords = (on: OnExpiry): string => WORDS[on]

const LEVELS = ['L1', 'L2', 'L3'] as const
export type AssuranceLevel = (typeof LEVELS)[number]
export const meets = (given: AssuranceLevel, wanted: AssuranceLevel): boolean =>
  LEVELS.indexOf(given) >= LEVELS.indexOf(wanted)
