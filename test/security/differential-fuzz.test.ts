import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { drive, ruleOf } from '../support/fuzz/drive.js'
import { type FuzzManifest, fuzzManifest, manifestText } from '../support/fuzz/manifest.js'
import { buildRequest, type FuzzRequest, fuzzRequest } from '../support/fuzz/request.js'
import { routerOf } from '../support/manifests.js'
import { disagreements } from '../support/readers/oracle.js'

/**
 * Whenever the gate dispatches, every framework behind it sees for every argument exactly what was
 * judged: random manifests, random requests, every reader. FUZZ_SECONDS sets the time, FUZZ_SEED the
 * seed; a failure prints seed and path.
 */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 60)
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const SOCKET_SHARE = 0.25
const REQUESTS = { minLength: 1, maxLength: 24 }

describe(`differential fuzzing, seed ${SEED}`, () => {
  const counts = { sent: 0, refused: new Map<string, number>() }

  it(
    'no reader disagrees with what was judged, from the head to the forwarded octets',
    () => {
      fc.assert(
        fc.property(
          fuzzManifest,
          fc.array(fuzzRequest, { ...REQUESTS, size: 'max' }),
          (manifest, requests) => {
            const router = routerOf(manifestText(manifest))
            for (const seed of requests) judgeOne(manifest, router, seed)
          },
        ),
        {
          seed: SEED,
          numRuns: 1_000_000,
          interruptAfterTimeLimit: SECONDS * (1 - SOCKET_SHARE) * 1000,
        },
      )
      const refused = [...counts.refused.values()].reduce((sum, n) => sum + n, 0)
      if (process.env.FUZZ_SECONDS !== undefined) {
        console.log(`${counts.sent} dispatched, ${refused} refused`, counts.refused)
      }
      expect(counts.sent / (counts.sent + refused)).toBeGreaterThanOrEqual(0.4)
    },
    (SECONDS + 120) * 1000,
  )

  function judgeOne(
    manifest: FuzzManifest,
    router: ReturnType<typeof routerOf>,
    seed: FuzzRequest,
  ): void {
    const request = buildRequest(manifest, seed)
    const driven = drive(router, request)
    if (driven.kind === 'refused') {
      counts.refused.set(driven.code, (counts.refused.get(driven.code) ?? 0) + 1)
      return
    }
    counts.sent++
    const rule = ruleOf(manifest.rules, driven.tool)
    const found = disagreements(driven.sent, { rule, args: driven.args }, manifest.rules)
    if (found.length > 0) throw new Error(described(manifest, request, found))
  }
})

const described = (
  manifest: FuzzManifest,
  { method, target, headers, body }: ReturnType<typeof buildRequest>,
  found: readonly string[],
): string =>
  [
    manifestText(manifest),
    `${method} ${target}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    Buffer.from(body).toString(),
    ...found,
  ].join('\n')
