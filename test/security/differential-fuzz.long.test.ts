import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Router } from '../../src/core/manifest/route/match.js'
import { draws } from '../support/draws.js'
import { type Driven, drive, ruleOf } from '../support/fuzz/drive.js'
import { type FuzzManifest, fuzzManifest, manifestText } from '../support/fuzz/manifest.js'
import { buildRequest, type FuzzRequest, fuzzRequest } from '../support/fuzz/request.js'
import { type FuzzStand, fuzzStand } from '../support/fuzz/stand.js'
import { routerOf } from '../support/manifests.js'
import { disagreements } from '../support/readers/oracle.js'
import type { RawRequest } from '../support/readers/request.js'

/**
 * Whenever the gate dispatches, every framework behind it sees for every argument exactly what was
 * judged: random manifests, random requests, every reader. FUZZ_SECONDS sets the time, FUZZ_SEED the
 * seed; a failure prints seed and path.
 */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? draws(60, 8))
const SEED = Number(process.env.FUZZ_SEED ?? 1)
const SOCKET_SHARE = 0.25
/** Requests between sockets, however slow the machine: of fewer no share can be told. */
const LEAST = 60
const TIMEOUT_MS = (SECONDS + 120) * 1000
const requests = fc.array(fuzzRequest, { minLength: 1, maxLength: 60, size: 'max' })
/** A whole gate writes and syncs for each of them. */
const fewRequests = fc.array(fuzzRequest, { minLength: 1, maxLength: 12, size: 'max' })

describe(`differential fuzzing, seed ${SEED}`, () => {
  it(
    'no reader disagrees with what was judged, from the head to the forwarded octets',
    () => {
      const seen = { dispatched: 0, refused: 0 }
      fc.assert(
        fc.property(fuzzManifest, requests, (manifest, seeds) => {
          const router = routerOf(manifestText(manifest))
          for (const seed of seeds) {
            const request = buildRequest(manifest, seed)
            const driven = drive(router, request)
            seen[driven.kind]++
            holdAgainst(manifest, request, driven)
          }
        }),
        {
          seed: SEED,
          numRuns: 1_000_000,
          interruptAfterTimeLimit: SECONDS * (1 - SOCKET_SHARE) * 1000,
        },
      )
      expect(seen.dispatched / (seen.dispatched + seen.refused)).toBeGreaterThanOrEqual(0.4)
    },
    TIMEOUT_MS,
  )

  it(
    'nor does one between sockets, where the whole gate decides as the reading does',
    async () => {
      const seen = { dispatched: 0, refused: 0 }
      const until = performance.now() + SECONDS * SOCKET_SHARE * 1000
      const run = async (
        manifest: FuzzManifest,
        seeds: readonly FuzzRequest[],
        router: Router,
        stand: FuzzStand,
      ): Promise<void> => {
        for (const seed of seeds) {
          const request = buildRequest(manifest, seed)
          const driven = await stand.send(request)
          seen[driven.kind]++
          holdAgainst(manifest, request, driven)
          // The gate also refuses framing, which the reading does not see.
          if (isFramed(request) && driven.kind === 'refused') continue
          expect(driven.kind).toBe(drive(router, request).kind)
        }
      }
      await fc.assert(
        fc.asyncProperty(fuzzManifest, fewRequests, async (manifest, seeds) => {
          // A run under way is never cut off; when the time is over, those left do nothing.
          if (performance.now() > until && seen.dispatched + seen.refused >= LEAST) return
          const text = manifestText(manifest)
          const stand = await fuzzStand(text)
          try {
            await run(manifest, seeds, routerOf(text), stand)
          } finally {
            await stand.close()
          }
        }),
        // What fails here shrinks above, in process: a gate per candidate would take an hour.
        { seed: SEED, numRuns: 20 * SECONDS, endOnFailure: true },
      )
      expect(seen.dispatched / (seen.dispatched + seen.refused)).toBeGreaterThanOrEqual(0.4)
    },
    TIMEOUT_MS,
  )
})

const isFramed = ({ headers }: RawRequest): boolean =>
  headers.some(([name]) => name === 'transfer-encoding')

function holdAgainst(manifest: FuzzManifest, request: RawRequest, driven: Driven): void {
  if (driven.kind === 'refused') return
  const rule = ruleOf(manifest.rules, driven.tool)
  const found = disagreements(driven.sent, { rule, args: driven.args }, manifest.rules)
  if (found.length === 0) return
  const { method, target, headers, body } = request
  throw new Error(
    [
      manifestText(manifest),
      `${method} ${target}`,
      ...headers.map(([name, value]) => `${name}: ${value}`),
      Buffer.from(body).toString(),
      ...found,
    ].join('\n'),
  )
}
