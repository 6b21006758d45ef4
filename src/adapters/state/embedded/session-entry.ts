/** An open session, as lines say; null where none does yet. */
export type Folded = {
  openedAt: string
  usedAt: string
  lastStep: number
  mismatches: number
  gap: string | null
  readonly mandates: Set<string>
  /** Requests to people that stop it while they are open. */
  holds: { readonly approvalId: string; readonly holds: 'session' | 'call' }[]
}
/** The same with what is committed and has no line yet. */
export type Entry = {
  readonly sessionId: string
  readonly agent: string
  folded: Folded | null
  lastStep: number
  usedAt: number
  readonly mandates: Set<string>
  /** Stopped by this process; the line that says so follows. */
  stopped: boolean
  /** Ended by this process; the line that says so follows. */
  ending: boolean
}
