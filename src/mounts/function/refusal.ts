import type { Problem } from '../../core/verdict/problem.js'

/** The gate's answer instead of a result. `problem.dispatched` tells whether the tool may have acted. */
export class GateRefusal extends Error {
  readonly problem: Problem

  constructor(problem: Problem, cause?: unknown) {
    super(problem.detail, cause === undefined ? {} : { cause })
    this.name = 'GateRefusal'
    this.problem = problem
  }

  get code(): string {
    return this.problem.code
  }
}
