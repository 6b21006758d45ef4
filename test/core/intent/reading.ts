import { utf8 } from '../../../src/core/bytes/text.js'
import { readIntent } from '../../../src/core/intent/read.js'
import { octets, STANDARD, type Written } from './samples.js'

export const read = (written: unknown, pii: 'reject' | 'flag' | 'off' = 'reject') =>
  readIntent(octets(written), { pii })
export const readText = (text: string) => readIntent(utf8(text), { pii: 'reject' })
export const fieldOf = (written: unknown): string | null => {
  const got = read(written)
  return got.ok ? null : got.field
}
export const goal = (more: Written): Written => ({
  ...STANDARD,
  declared_goal: { ...STANDARD.declared_goal, ...more },
})
export const reasoning = (more: Written): Written => ({
  ...STANDARD,
  reasoning_basis: { ...STANDARD.reasoning_basis, ...more },
})
/** As JSON.stringify has it, with one member's text replaced. */
export const withText = (written: Written, name: string, text: string): string =>
  JSON.stringify({ ...written, [name]: '@@' }).replace('"@@"', () => text)

export const COMMON = [
  'idp_id',
  'session_id',
  'so_id',
  'mandate_id',
  'step_sequence',
  'requested_action',
  'timestamp',
]
export const STANDARD_ONLY = ['declared_goal', 'reasoning_basis', 'confidence_level', 'hem_urgency']
