import type { VerdictClass } from '../../core/capsule/registries.js'
import type { DemoAgent, DemoFiles } from './files.js'
import { ORDERS } from './tool.js'

/** What the demonstration's agents try, and the verdicts it would be a defect not to get. */
export type DemoCall = {
  readonly amount: string
  readonly order: string
  readonly verdict: VerdictClass
  readonly effect: string | null
  readonly agent: DemoAgent
}
export type Happened = {
  readonly call: DemoCall
  readonly status: number
  readonly capsuleId: string
  /** The refusal's own words; null when the answer is the tool's. */
  readonly refusal: string | null
}

const BOT = { order: ORDERS.known, agent: 'support-bot' } as const

export const CALLS: readonly DemoCall[] = [
  { ...BOT, amount: '40.00', verdict: 'executed', effect: 'confirmed' },
  { ...BOT, amount: '40.00', order: ORDERS.unknown, verdict: 'executed', effect: 'failed' },
  { ...BOT, amount: '750.00', verdict: 'blocked', effect: null },
  { ...BOT, amount: '40.00', agent: 'intern-bot', verdict: 'denied', effect: null },
  { ...BOT, amount: '40.00', order: ORDERS.slow, verdict: 'timeout', effect: 'dispatched' },
  { ...BOT, amount: '40.00', order: ORDERS.cut, verdict: 'errored', effect: 'dispatched' },
  { ...BOT, amount: '250.00', verdict: 'hitl_dispatched', effect: null },
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
