import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Behaviour,
  MISBEHAVIOURS,
  type RawUpstream,
  rawUpstream,
} from '../../support/raw-upstream.js'
import { ask, post, type Stand, startStand } from './harness.js'

/** Whatever an upstream does, the verdict is right and never falsely confirmed (DESIGN §2.3). */
const MANIFEST = `id: com.acme.raw
tools:
  read:
    match: POST /read
    also: {body: any}
    deadlines: {connect_ms: 1000, first_byte_ms: 400, total_ms: 800}
  read_to_close:
    match: POST /close
    also: {body: any}
    close_delimited: accept
    deadlines: {connect_ms: 1000, first_byte_ms: 400, total_ms: 800}
`
let stand: Stand
let upstream: RawUpstream
let behaviour: Behaviour = () => {}
beforeAll(async () => {
  upstream = await rawUpstream((peer) => behaviour(peer))
  stand = await startStand({ upstream: upstream.origin, manifest: MANIFEST })
})
afterAll(async () => {
  await stand.close()
  await upstream.close()
})
/** Large enough that no kernel takes all of it before the answer comes. */
const LARGE = 'x'.repeat(9_000_000)

describe('a misbehaving upstream, seen through the proxy', () => {
  it.each(Object.entries(MISBEHAVIOURS))('%s', async (name, { serve, complete }) => {
    behaviour = serve
    const body = name.includes('early') ? LARGE : 'x'
    for (const path of ['/read', '/close']) {
      const { result, capsules } = await stand.after(() => ask(stand.port, post(path, body)))
      expect(capsules).toHaveLength(1)
      const capsule = capsules[0]
      const mayBeComplete =
        complete === 'yes' || (complete === 'if_close_accepted' && path === '/close')
      if (mayBeComplete) {
        expect(capsule?.effect?.status).toMatch(/^(confirmed|failed)$/)
        expect(result.headers.get('gate-verdict')).toBe(capsule?.disposition.verdict_class)
      } else {
        expect(capsule?.effect?.status ?? 'none').toMatch(/^(none|dispatched)$/)
        expect(capsule?.disposition.verdict_class).toMatch(/^(errored|timeout|engine_failure)$/)
        expect([502, 503, 504]).toContain(result.status)
        expect(capsule?.effect?.response_digest).toBeUndefined()
        const problem = JSON.parse(result.body.toString('utf8')) as { dispatched: boolean }
        expect(problem.dispatched).toBe(capsule?.effect?.status === 'dispatched')
      }
    }
  })
})
