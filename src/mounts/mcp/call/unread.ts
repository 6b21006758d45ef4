import type { McpCall, UnreadBody } from '../../../core/call/call.js'
import type { Malformed } from '../../../core/call/malformed.js'
import type { Answer } from '../../../gate/answer/answer.js'
import { type Dispatch, notSent } from '../../../ports/dispatch.js'
import type { McpGate, Sender } from '../options.js'

const NEVER: Dispatch = async () => ({ observation: notSent('upstream_unknown'), held: null })

/** Why a message was not read as a call. */
export type Unread = Malformed | Extract<UnreadBody['kind'], Kind>
type Kind = (typeof KINDS)[number]
const KINDS = ['too_large', 'unread', 'no_room', 'aborted'] as const
const isKind = (fault: Unread): fault is Kind => KINDS.some((kind) => kind === fault)

/** A message that was not read as a call could have been one: it is refused and recorded as what it was. */
export const recordUnread = (
  fault: Unread,
  server: string,
  sender: Sender,
  gate: Pick<McpGate, 'govern'>,
): Promise<Answer> => gate.govern(unreadCall(fault, server, sender), NEVER, sender.identified)

export const unreadCall = (fault: Unread, server: string, { caller }: Sender): McpCall => ({
  kind: 'mcp',
  server,
  method: '',
  name: null,
  body: isKind(fault) ? { kind: fault } : { kind: 'malformed', fault },
  more: '',
  meta: '',
  definition: null,
  caller,
  idempotencyKey: null,
  approvalId: null,
  waitSeconds: 0,
})
