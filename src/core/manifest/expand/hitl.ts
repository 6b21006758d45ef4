import type { Hitl } from '../model.js'
import type { Node, Reader } from './tree.js'

const YEAR_SECONDS = 31_536_000
const KEYS = [
  'ttl_seconds',
  'quorum',
  'roles',
  'min_assurance',
  'on_approval',
  'ladder',
  'reminders_seconds',
  'refusal_seconds',
]

/** How a human is asked, also when a policy and not a constraint asks: so it always has a value. */
export function expandHitl(reader: Reader, node: Node | undefined): Hitl {
  const fields = reader.fields(node, KEYS)
  const seconds = (member: Node | undefined): number | undefined =>
    reader.integer(member, 1, YEAR_SECONDS)
  const roles = (member: Node | undefined): readonly string[] =>
    reader.texts(member, /^[a-z][a-z0-9_-]{0,63}$/, "a role's name")
  const asked = roles(fields?.get('roles'))
  const refusal = seconds(fields?.get('refusal_seconds'))
  return {
    ttl_seconds: seconds(fields?.get('ttl_seconds')) ?? 3600,
    quorum: reader.integer(fields?.get('quorum'), 1, 16) ?? 1,
    roles: asked.length === 0 ? ['approver'] : asked,
    min_assurance: reader.oneOf(fields?.get('min_assurance'), ['L1', 'L2', 'L3']) ?? 'L1',
    on_approval: reader.oneOf(fields?.get('on_approval'), ['retry', 'dispatch']) ?? 'retry',
    ladder: (reader.list(fields?.get('ladder')) ?? []).map((step) => {
      const parts = reader.fields(step, ['roles', 'after_seconds'])
      const after = seconds(parts?.get('after_seconds'))
      if (after === undefined) {
        reader.problem(step, 'a step needs a time', '{roles: [lead], after_seconds: 900}')
      }
      return { roles: roles(parts?.get('roles')), after_seconds: after ?? 0 }
    }),
    reminders_seconds: (reader.list(fields?.get('reminders_seconds')) ?? []).flatMap(
      (member) => seconds(member) ?? [],
    ),
    ...(refusal === undefined ? {} : { refusal_seconds: refusal }),
  }
}
