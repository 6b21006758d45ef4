import { beforeAll, expect, it } from '@jest/globals'
import { verifyLedger } from '../../../src/verify.js'
import { draws } from '../../support/draws.js'
import { needs } from '../../support/needs.js'
import { agreement, checkWithPython, missingPythonChecker } from '../../support/python-checker.js'
import { again, RUNS_ALL } from './cases.js'
import { journals } from './drawn-cases.js'
import { rememberingCrypto } from './judge-verify.js'
import type { World } from './operations/operation.js'
import { makeWorld } from './world.js'

/** examples/verify-python says of every journal of the suite what `verify` says, as far as it checks. */
const { describe: runs } = needs(missingPythonChecker())
let world: World
beforeAll(async () => {
  world = await makeWorld()
})

runs('the checker in Python', () => {
  it('agrees with verify on every journal', async () => {
    const cases = [...journals(world)]
    const { keyring } = world
    const checked = await checkWithPython(
      cases.map(({ journal }) => journal),
      keyring,
    )
    const crypto = rememberingCrypto()
    const faults = cases.flatMap(({ name, journal }, index) => {
      const python = checked[index]
      if (python === undefined) return [`verify.py said nothing\n    ${again(name)}`]
      const fault = agreement(verifyLedger(journal, { crypto, keys: keyring }), python)
      return fault === null ? [] : [`${fault}\n    ${again(name)}`]
    })
    process.stdout.write(`tamper: verify.py: ${cases.length} journals\n`)
    expect(faults).toEqual([])
    if (RUNS_ALL) expect(cases.length).toBeGreaterThan(draws(2_000, 300))
  }, 900_000)
})
