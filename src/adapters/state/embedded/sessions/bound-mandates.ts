/** Which open session has a mandate: a session that is stopped must not go on under another name. */
export function createBoundMandates() {
  const holders = new Map<string, string>()
  /** By session, its mandates; true where a line says so. */
  const bySession = new Map<string, Map<string, boolean>>()

  return {
    /** Null: no session has it. */
    holderOf: (mandateId: string): string | null => holders.get(mandateId) ?? null,
    bind(sessionId: string, mandateId: string, isOnRecord = false): void {
      if ((holders.get(mandateId) ?? sessionId) !== sessionId) return
      const own = bySession.get(sessionId) ?? new Map<string, boolean>()
      own.set(mandateId, isOnRecord || own.get(mandateId) === true)
      bySession.set(sessionId, own)
      holders.set(mandateId, sessionId)
    },
    /** What was to say so was not written. */
    release(sessionId: string, mandateId: string): void {
      const own = bySession.get(sessionId)
      if (own?.get(mandateId) !== false) return
      own.delete(mandateId)
      holders.delete(mandateId)
    },
    /** The session is not open any more. */
    drop(sessionId: string): void {
      for (const mandateId of bySession.get(sessionId)?.keys() ?? []) holders.delete(mandateId)
      bySession.delete(sessionId)
    },
    onRecord: (sessionId: string): string[] =>
      [...(bySession.get(sessionId) ?? [])]
        .flatMap(([mandateId, isOnRecord]) => (isOnRecord ? [mandateId] : []))
        .sort(),
    clear(): void {
      holders.clear()
      bySession.clear()
    },
  }
}
