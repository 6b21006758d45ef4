import type { VerdictClass } from '../../core/capsule/registries.js'
import type { DemoAgent, DemoFiles } from './files.js'
import { ORDERS } from './tool.js'

/** What the demonstration's agents try, and the verdicts it would be a defect not to get. */
export type DemoCall = {
  readonly agent: DemoAgent
  readonly order: string
  readonly amount: string
  readonly verdict: VerdictClass
  readonly effect: string | null
}
export type Happened = {
  readonly call: DemoCall
  readonly status: number
  readonly capsuleId: string
  /** The refusal's own words; null when the answer is the tool's. */
  readonly refusal: string | null
}

const refund = (
  amount: string,
  order: string,
  verdict: VerdictClass,
  effect: string | null,
  agent: DemoAgent = 'support-bot',
): DemoCall => ({ agent, order, amount, verdict, effect })

export const CALLS: readonly DemoCall[] = [
  refund('40.00', ORDERS.known, 'executed', 'confirmed'),
  refund('40.00', ORDERS.unknown, 'executed', 'failed'),
  refund('750.00', ORDERS.known, 'blocked', null),
  refund('40.00', ORDERS.known, 'denied', null, 'intern-bot'),
  refund('40.00', ORDERS.slow, 'timeout', 'dispatched'),
  refund('40.00', ORDERS.cut, 'errored', 'dispatched'),
  refund('250.00', ORDERS.known, 'hitl_dispatched', null),
]

export const bodyOf = ({ order, amount }: Pick<DemoCall, 'order' | 'amount'>): string =>
  JSON.stringify({ order, currency: 'EUR', amount })

/** One call as an agent makes it: its own token, the gate's address, nothing of the tool's. */
export async function make(
  call: DemoCall,
  url: string,
  tokens: DemoFiles['tokens'],
): Promise<Happened> {
  const response = await fetch(`${url}/v1/refunds`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokens[call.agent]}`,
      'content-type': 'application/json',
    },
    body: bodyOf(call),
  })
  const refused = response.headers.get('content-type')?.includes('problem+json') === true
  const text = await response.text()
  return {
    call,
    status: response.status,
    capsuleId: response.headers.get('gate-capsule') ?? '',
    refusal: refused ? (JSON.parse(text) as { title: string }).title : null,
  }
}
