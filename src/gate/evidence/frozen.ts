import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import type { Agent } from '../../core/call/agent.js'
import type { ReadCall } from '../../core/call/call.js'
import { capturedHead } from '../../core/call/capture.js'
import { freeze as freezeCall, thaw as thawCall } from '../../core/call/freeze.js'
import { octetsOf } from '../../core/call/parts.js'
import type { ToolRule } from '../../core/manifest/model.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { Approval } from '../../ports/state.js'
import { committedOf } from '../answer/answer.js'
import type { OnRecord, Parts } from '../context.js'
import { bytesPart } from './parts.js'

/** The request itself, for `capture: full`: its octets, and over HTTP its head. */
export function capturedRequest(call: ReadCall, parts: Pick<Parts, 'crypto'>): EvidencePart[] {
  const bytes = octetsOf(call)
  const octets: EvidencePart = { digest: hex(parts.crypto.sha256(bytes)), kind: 'request', bytes }
  const head = capturedHead(call)
  return head === null
    ? [octets]
    : [octets, bytesPart('frozen', 'head', utf8(JSON.stringify(head)), parts)]
}

/** The request as it would be sent, without credentials. */
export function freeze(
  known: { call: ReadCall; rule: ToolRule; agent: Agent; intent: OnRecord | null },
  parts: Pick<Parts, 'crypto'>,
): EvidencePart[] {
  const { call, rule, agent, intent } = known
  const { head, body } = freezeCall({ ...call, ...committedOf(intent) }, rule, agent)
  return [bytesPart('frozen', 'head', head, parts), bytesPart('frozen', 'body', body, parts)]
}

/** The call as it was frozen when the human was asked, with its caller as it was then. */
export async function thaw(
  { approvalId, agent }: Approval,
  parts: Pick<Parts, 'evidence'>,
): Promise<ReturnType<typeof thawCall>> {
  const found = await parts.evidence.byAction(approvalId)
  if (found.state !== 'present') return null
  const bytes = (of: 'head' | 'body'): Uint8Array | undefined =>
    found.value.find(({ kind, name }) => kind === 'frozen' && name === of)?.bytes
  const [head, body] = [bytes('head'), bytes('body')]
  if (head === undefined || body === undefined) return null
  const thawed = thawCall({ head, body }, approvalId)
  return thawed?.agent.agent === agent ? thawed : null
}
