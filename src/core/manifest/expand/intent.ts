import type { ToolRule } from '../model.js'
import type { Fields, Reader } from './tree.js'

type IntentMembers = Pick<ToolRule, 'intent' | 'thin' | 'cross_principal'>

/**
 * Whether a call declares what it is about to do, and what of that is refused. A value that is the default has no
 * member, so that the digest of a manifest from before these keys stays what it was.
 */
export function expandIntent(reader: Reader, fields: Fields): IntentMembers {
  const intent = reader.oneOf(fields.get('intent'), ['required', 'optional', 'off'])
  const thin = reader.oneOf(fields.get('thin'), ['accept', 'refuse'])
  const crossPrincipal = reader.oneOf(fields.get('cross_principal'), ['allow', 'refuse'])
  const declared = intent === 'required' || intent === 'optional'
  const without = intent === 'off' || !fields.has('intent')
  for (const key of ['thin', 'cross_principal']) {
    const node = fields.get(key)
    if (node === undefined || !without) continue
    const wayOut = `write intent: required, or remove ${key}`
    reader.problem(node, `${key} is said of a tool without intent`, wayOut)
  }
  return {
    ...(declared ? { intent } : {}),
    ...(thin === 'refuse' ? { thin } : {}),
    ...(crossPrincipal === 'refuse' ? { cross_principal: crossPrincipal } : {}),
  }
}
