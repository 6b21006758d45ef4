import type { Call } from '../core/call.js'
import { parse } from '../core/json/parse.js'
import { toPlain } from '../core/json/value.js'
import type { Approval, EvidencePart, Identified } from '../ports.js'
import type { Parts } from './stage.js'

type Frozen = { readonly call: Call; readonly agent: Extract<Identified, { kind: 'known' }> }

/** The call as it was frozen when the human was asked; its caller is who it was then. */
export async function thaw({ approvalId, agent }: Approval, parts: Parts): Promise<Frozen | null> {
  const found = await parts.evidence.byAction(approvalId)
  if (found.state !== 'present') return null
  const bytes = (name: string): Uint8Array | undefined =>
    found.value.find((part: EvidencePart) => part.kind === 'frozen' && part.name === name)?.bytes
  const [head, body] = [bytes('head'), bytes('body')]
  if (head === undefined || body === undefined) return null
  const parsed = parse(head)
  if (!parsed.ok) return null
  const said = toPlain(parsed.value) as FrozenHead
  const common = {
    caller: { bearer: null, certificate: null, asserted: null, source: 'approval' },
    idempotencyKey: null,
    approvalId,
    waitSeconds: 0,
  }
  const call: Call =
    said.kind === 'http'
      ? { ...said, ...common, body: { kind: 'read', bytes: body } }
      : { kind: 'function', tool: said.tool, argumentsJson: body, ...common }
  return said.agent.agent === agent ? { call, agent: said.agent } : null
}

type FrozenHead = { readonly agent: Frozen['agent'] } & (
  | {
      readonly kind: 'http'
      readonly method: string
      readonly upstream: string
      readonly target: string
      readonly headers: readonly (readonly [string, string])[]
      readonly tool: string | null
    }
  | { readonly kind: 'function'; readonly tool: string }
)
