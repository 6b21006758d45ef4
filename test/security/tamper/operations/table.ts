import { BESIDE } from './beside.js'
import { FORGED } from './forge.js'
import { HEADS_CHANGED } from './heads.js'
import { LINES_CHANGED } from './lines.js'
import { OCTETS } from './octets.js'
import type { Operation } from './operation.js'
import { SEGMENTS_CHANGED } from './segments.js'

/** Everything that is done to a journal and what stands beside it. Evidence has a table of its own. */
export const OPERATIONS: readonly Operation[] = [
  ...OCTETS,
  ...LINES_CHANGED,
  ...HEADS_CHANGED,
  ...SEGMENTS_CHANGED,
  ...BESIDE,
  ...FORGED,
]
