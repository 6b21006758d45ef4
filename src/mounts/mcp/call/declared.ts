import { declaredOf } from '../../../core/intent/carry.js'
import type { Declared } from '../../../core/intent/model.js'
import { type Member, membersOf } from '../../../core/json/spans.js'
import type { Request } from '../../../core/mcp/message.js'
import { metaMembers, metaOf, OWN } from '../../../core/mcp/meta.js'
import { NONE_DECLARED } from '../../http/declared.js'
import type { Sender } from '../options.js'

/** Intent and mandate of one request: in `_meta`, and over HTTP in its head too. */
export function declaredIn({ params }: Request, { declared }: Sender): Declared | undefined {
  const meta = metaOf(params.value)
  const carries = meta.has(OWN.intent) || meta.has(OWN.mandate)
  if (!carries && declared === undefined) return undefined
  const members = metaMembers(
    params.written === undefined ? params.members : membersOf(params.written),
  )
  const intent = textOf(members, OWN.intent)
  // What is no text is a mandate that fails, never one that was not there.
  const text = textOf(members, OWN.mandate)
  const value = meta.get(OWN.mandate)
  const mandate = typeof value === 'string' ? value : text
  return declaredOf({
    ...(declared ?? NONE_DECLARED),
    meta: {
      ...(intent === undefined ? {} : { intent }),
      ...(mandate === undefined ? {} : { mandate }),
    },
  })
}

const textOf = (members: readonly Member[], wanted: string): string | undefined =>
  members.find(({ name }) => name === wanted)?.value
