/** Why a parser stops, and at which offset. */
export type Refused<Code extends string> = {
  readonly ok: false
  readonly code: Code
  readonly at: number
}

/** Thrown inside a parser; its entry function catches it and returns `refused`. */
export class Refusal<Code extends string> extends Error {
  readonly refused: Refused<Code>
  constructor(code: Code, at: number) {
    super(code)
    this.refused = { ok: false, code, at }
  }
}
