import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Installation, install, type Serving } from '../cli/admin-support.js'
import { cli } from '../cli/support.js'

/** What an operator needs to know of a call that no rule names, and where it must not stand. */
let at: Installation
let gate: Serving
beforeAll(async () => {
  at = await install()
  gate = await at.start()
})
afterAll(() => at.close())

const verdicts = (): Record<string, unknown>[] =>
  gate
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'verdict')
const logged = async (actionId: string): Promise<Record<string, unknown>> => {
  await gate.logged(new RegExp(actionId))
  return verdicts().find(({ action_id }) => action_id === actionId) ?? {}
}
const send = async (method: string, path: string, token: string) => {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${gate.agents}${path}`, { method, headers })
  return String(answer.headers.get('gate-action'))
}

describe('an unmatched call', () => {
  it('its method stands in the log; method and target stand in its evidence, and in no public record', async () => {
    const token = readFileSync(at.tokenFile.agent, 'utf8').trim()
    const id = await send('DELETE', '/zq-unheard/of?who=zq-person', token)
    const line = await logged(id)
    expect(line).toMatchObject({ code: 'tool_unknown', method: 'DELETE', cause: null })
    expect(gate.log()).not.toContain('zq-')
    const shown = await cli(
      ['evidence', 'show', id, '--json', '--url', gate.admin, '--token-file', at.tokenFile.auditor],
      {},
    )
    const { parts } = JSON.parse(shown.out) as { parts: { kind: string; value: unknown }[] }
    expect(parts.find(({ kind }) => kind === 'request')?.value).toMatchObject({
      method: 'DELETE',
      target: '/zq-unheard/of?who=zq-person',
    })
    const ledger = await cli(['ledger', 'show', id, '--data', at.data])
    expect(ledger.code).toBe(0)
    expect(ledger.out).not.toMatch(/zq-|DELETE/)
  })
})

describe('a 401', () => {
  it.each([
    ['no credential', undefined, 'no_credential'],
    ['an unknown token', 'zq-a-secret-token', 'token_unknown'],
  ])('%s: the log has the cause, and never the token', async (_, token, cause) => {
    const answer = await fetch(`${gate.agents}/v1/refunds`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ order: 'o-1', currency: 'EUR', amount: '1.00' }),
    })
    expect(answer.status).toBe(401)
    const line = await logged(String(answer.headers.get('gate-action')))
    expect(line).toMatchObject({ code: 'unauthenticated', method: 'POST', cause })
    expect(gate.log()).not.toContain('zq-a-secret')
  })
})
