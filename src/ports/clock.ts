export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds, for deadlines in between. */
  monotonic(): number
}
export type Timer = {
  /** Runs once, not before `ms` monotonic milliseconds, maybe later; the result cancels it. */
  after(ms: number, run: () => void): () => void
}
export type Ids = {
  /** UUIDv7; MUST be unique and MUST NOT be guessable from earlier ones. */
  actionId(): string
  random(bytes: number): Uint8Array
}
