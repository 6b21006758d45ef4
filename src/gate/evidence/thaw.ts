import type { Agent } from '../../core/call/agent.js'
import type { ReadCall } from '../../core/call/call.js'
import { thaw as thawCall } from '../../core/call/freeze.js'
import type { Approval } from '../../ports/state.js'
import type { Parts } from '../context.js'

type Thawed = { readonly call: ReadCall; readonly agent: Agent }

/** The call as it was frozen when the human was asked; its caller is who it was then. */
export async function thaw({ approvalId, agent }: Approval, parts: Parts): Promise<Thawed | null> {
  const found = await parts.evidence.byAction(approvalId)
  if (found.state !== 'present') return null
  const bytes = (of: 'head' | 'body'): Uint8Array | undefined =>
    found.value.find(({ kind, name }) => kind === 'frozen' && name === of)?.bytes
  const [head, body] = [bytes('head'), bytes('body')]
  if (head === undefined || body === undefined) return null
  const thawed = thawCall({ head, body }, approvalId)
  return thawed?.agent.agent === agent ? thawed : null
}
