import type { Parts } from '../context.js'
import { type Acting, recordActor } from '../operate/actor.js'
import { signed } from '../signed-event.js'
import { holding } from './holding.js'

export type Acceptance = {
  readonly server: string
  readonly tool: string
  /** The digest of the definition that the operator has looked at. */
  readonly definition: string
  /** The authenticated operator. */
  readonly by: string
}
export type Accepted =
  | 'accepted'
  /** The tool is held to it already; nothing was recorded. */
  | 'in_force'
  /** It is not how the server was last seen to describe the tool. */
  | 'not_seen'
  /** No such tool was ever described. */
  | 'unknown'

/** An operator accepts how a server describes a tool now; the caller then raises the generation. */
export const acceptTool = (
  { server, tool, definition, by }: Acceptance,
  parts: Acting & Pick<Parts, 'state'>,
): Promise<Accepted> =>
  holding(server, parts, async () => {
    const pin = await parts.state.pin(server, tool)
    if (pin === null) return 'unknown'
    if (definition === pin.definition) return 'in_force'
    if (definition !== pin.changed) return 'not_seen'
    const scope = { server, tool, definition }
    const who = await recordActor(by, { did: 'TOOL_ACCEPTED', scope }, parts)
    await parts.journal.append([signed('TOOL_ACCEPTED', { ...scope, ...who }, parts)])
    return 'accepted'
  })
