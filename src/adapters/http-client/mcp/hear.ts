import { readMessage } from '../../../core/mcp/message.js'
import type { McpFault } from '../../../ports/mcp.js'
import type { Cut, Link } from './link.js'

/** The request on whose stream a message came. */
type Asked = { readonly id: number; answered: boolean; answer(octets: Uint8Array): void }

/** More on one stream, and it is not worth listening to: each becomes a line of the journal. */
const MAX_FAULTS = 64

/** What becomes of the messages on one stream; `asked` is null where the server fills it by itself. */
export function createHearing(link: Link, cut: Cut, asked: Asked | null) {
  const { listener, ended, maxMessageBytes } = link
  let faults = 0
  let heard = 0

  const fault = (what: McpFault): void => {
    listener.fault(what)
    if (++faults >= MAX_FAULTS) cut.now('too_many_faults')
  }
  return {
    /** How many were told to the listener. */
    get heard(): number {
      return heard
    },
    event(octets: Uint8Array): void {
      const read = readMessage(octets, maxMessageBytes)
      if (!read.ok) {
        fault(read.fault)
      } else if (read.message.kind !== 'response') {
        heard++
        // Behind the answer a message belongs to no request any more.
        listener.message(octets, asked === null || asked.answered ? null : asked.id)
      } else if (asked !== null && !asked.answered && read.message.id.key === `n${asked.id}`) {
        asked.answer(octets)
      } else {
        const wrong = ended.judge(read.message.id.key)
        if (wrong !== null) fault(wrong)
      }
    },
    tooLong(): void {
      listener.fault('message_too_long')
      cut.now('message_too_long')
    },
  }
}
