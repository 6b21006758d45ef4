/**
 * An authenticated person's decision on one exact request. `human_disposed: true` is built from this
 * value and from nothing else (promise 4); who the person is stays in the evidence store.
 */
export type Assent = {
  readonly decisionId: string
  readonly requestDigest: string
  /** Digest of the approval document the person was shown. */
  readonly documentDigest: string
  readonly approver: string
  readonly assurance: 'L1' | 'L2' | 'L3'
  /** `resume`: what was stopped goes on, and nothing is executed by that. */
  readonly outcome: 'approve' | 'deny' | 'defer' | 'withdraw' | 'resume'
  readonly at: string
}

export class HumanDecision {
  readonly #assent: Assent
  private constructor(assent: Assent) {
    this.#assent = assent
  }
  /** For the decision endpoint only, after the person was authenticated. */
  static authenticated(assent: Assent): HumanDecision {
    if (assent.approver === '') throw new TypeError('a decision needs a person')
    return new HumanDecision(Object.freeze({ ...assent }))
  }
  /** By brand, not by shape: a look-alike or an overridden getter yields null. */
  static assentOf(value: unknown): Assent | null {
    return typeof value === 'object' && value !== null && #assent in value ? value.#assent : null
  }
  get assent(): Assent {
    return this.#assent
  }
}
