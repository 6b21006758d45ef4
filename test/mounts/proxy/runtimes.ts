import { expect } from '@jest/globals'
import type { Capsule } from '../../../src/core/capsule/model.js'
import {
  ask,
  JSON_TYPE,
  OTHER_TOKEN,
  post,
  type RawAnswer,
  type Stand,
  type StandOptions,
  startStand,
  TOKEN,
} from './harness.js'

/** Runtimes that act themselves, over real sockets: the gate sends nothing to anybody. */
const MANIFEST = `id: com.acme.hook
tools:
  Bash:
    args: {command: string, amount: {type: decimal, optional: true}}
    deadlines: {total_ms: 60000}
    constraints:
      no_removal: {command: {matches: "[^;]*"}}
  Quick:
    args: {command: string}
    deadlines: {total_ms: 150}
  Kept:
    args: {command: string}
    capture: full
    subject: command
  pay:
    match: POST /pay
    args: {amount: decimal}
`
const POLICY = `@id("all") permit (principal, action, resource)
unless { action == Action::"dev.capsulegate.canary" };
@id("not-quick") forbid (principal == Agent::"other", action == Action::"Quick", resource);
@id("large") @hem("required") forbid (principal, action == Action::"Bash", resource)
when { if context.args has amount then context.args.amount.greaterThan(decimal("100.0")) else false }
unless { context.approval.granted };
`

export const startRuntimes = (more: Partial<StandOptions> = {}): Promise<Stand> =>
  startStand({ upstream: 'http://127.0.0.1:9', manifest: MANIFEST, policy: POLICY, ...more })

export type Asked = { readonly tool?: string; readonly args?: object; readonly head?: string }
export const question = (asked: Asked = {}): string => {
  const { tool = 'Bash', args = { command: 'ls' }, head = '' } = asked
  return post('/.gate/v1/decide', JSON.stringify({ tool, arguments: args }), JSON_TYPE + head)
}
export const reporting = (id: string, body: unknown = { ok: true }): string =>
  post(`/.gate/v1/actions/${id}/report`, JSON.stringify(body), JSON_TYPE)
export const asOther = (request: string): string => request.replace(TOKEN, OTHER_TOKEN)
export const json = ({ body }: RawAnswer): { [name: string]: unknown } =>
  JSON.parse(body.toString())

/** The action of a permit that was given. */
export async function permit(at: Stand, asked: Asked = {}): Promise<string> {
  const answer = await ask(at.port, question(asked))
  expect([answer.status, json(answer).verdict]).toEqual([200, 'permit'])
  return String(json(answer).action_id)
}
export async function codeOf(at: Stand, request: string): Promise<unknown[]> {
  const answer = await ask(at.port, request)
  return [answer.status, json(answer).code]
}
export const capsuleOf = async (at: Stand, id: string): Promise<Capsule | undefined> =>
  (await at.capsules()).find(({ action_id }) => action_id === id)

/** The next capsule that is written. */
export const written = (at: Stand): Promise<Capsule> =>
  new Promise((resolve) => {
    const stop = at.gate.data.subscribe((line) => {
      if (line.type !== 'CAPSULE') return
      stop()
      resolve(line.capsule)
    })
  })
