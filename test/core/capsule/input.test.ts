import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

/**
 * Promises 3 and 4 as the compiler sees them. Each snippet is a dishonest capsule; the test is red when
 * one of them compiles, and when an honest one does not.
 */
const ROOT = join(import.meta.dirname, '..', '..', '..')
const SRC = join(ROOT, 'src')

const PRELUDE = `
import { buildCapsule, assemble } from '${SRC}/core/capsule/build.js'
import type { CapsuleInput, EffectMeta, Verdict, By } from '${SRC}/core/capsule/input.js'
import { HumanDecision } from '${SRC}/core/capsule/human.js'
import { ObservedResponse, type Observation } from '${SRC}/core/capsule/observation.js'
import { buildOutcome } from '${SRC}/core/capsule/outcome.js'
import type { Capsule } from '${SRC}/core/capsule/model.js'
declare const crypto: { sha256(data: Uint8Array): Uint8Array }
declare const base: Omit<CapsuleInput, 'verdict'>
declare const effect: EffectMeta
declare const observed: ObservedResponse
declare const person: HumanDecision
declare const identity: CapsuleInput['identity']
const policy: By = { kind: 'policy' }
const build = (verdict: Verdict): Capsule => buildCapsule({ ...base, verdict }, crypto)
export { assemble, buildOutcome, build, effect, observed, person, policy, identity, HumanDecision, ObservedResponse }
export type { Observation }
`
const SENT = `{ kind: 'sent', cause: 'reset', deadline: false }`

const HONEST: Record<string, string> = {
  'executed from a witnessed response': `build({ kind: 'ran', verdict_class: 'executed', by: policy, effect, observation: { kind: 'complete', response: observed, outcome: 'succeeded' } })`,
  'a human closure from a decision': `build({ kind: 'disposed', decision: person })`,
  'a refusal': `build({ kind: 'refused', verdict_class: 'blocked' })`,
  'a report without a permit': `build({ kind: 'ungated', effect, reason_digest: '' })`,
  'a timeout after dispatch': `build({ kind: 'ran', verdict_class: 'timeout', by: policy, effect, observation: ${SENT} })`,
}

const DISHONEST: Record<string, string> = {
  'confirmed from a look-alike response': `build({ kind: 'ran', verdict_class: 'executed', by: policy, effect, observation: { kind: 'complete', response: { seen: observed.seen }, outcome: 'succeeded' } })`,
  'confirmed without a response': `build({ kind: 'ran', verdict_class: 'executed', by: policy, effect, observation: { kind: 'complete', outcome: 'succeeded' } })`,
  'a witness made by constructor': `new ObservedResponse(observed.seen)`,
  'a witness of a request not wholly sent': `ObservedResponse.witness({ ...observed.seen, requestSent: false })`,
  'a subclass that fakes the witness': `class Fake extends ObservedResponse {}\nnew Fake(observed.seen)`,
  'executed from a cut response': `build({ kind: 'ran', verdict_class: 'executed', by: policy, effect, observation: ${SENT} })`,
  'ran although nothing was sent': `build({ kind: 'ran', verdict_class: 'executed', by: policy, effect, observation: { kind: 'not_sent', cause: 'dns', deadline: false } })`,
  'timeout with a complete response': `build({ kind: 'ran', verdict_class: 'timeout', by: policy, effect, observation: { kind: 'complete', response: observed, outcome: 'succeeded' } })`,
  'an effect status given by hand': `build({ kind: 'ran', verdict_class: 'executed', by: policy, effect: { ...effect, status: 'confirmed' }, observation: ${SENT} })`,
  'an attestation given by hand': `build({ kind: 'ran', verdict_class: 'errored', by: policy, effect: { type: 't', irreversibility_class: 'two_way', request_digest: '', request_octets: effect.request_octets, effect_attestation: 'gate_executed' }, observation: ${SENT} })`,
  'an effect_mode given by hand': `buildCapsule({ ...base, verdict: { kind: 'timed_out' }, assurance: { effect_mode: 'confirmed' } }, crypto)`,
  'human_disposed given by hand': `build({ kind: 'refused', verdict_class: 'denied', human_disposed: true })`,
  'a human approver by name': `build({ kind: 'ran', verdict_class: 'executed', by: { kind: 'human', approver: 'dana' }, effect, observation: { kind: 'complete', response: observed, outcome: 'succeeded' } })`,
  'a human from a look-alike decision': `build({ kind: 'disposed', decision: { assent: person.assent } })`,
  'a human decision made by constructor': `new HumanDecision(person.assent)`,
  'a standing grant that claims a person': `build({ kind: 'ran', verdict_class: 'executed', by: { kind: 'grant', authority: 'g', decision: person }, effect, observation: { kind: 'complete', response: observed, outcome: 'succeeded' } })`,
  'a standing grant without an authority': `build({ kind: 'ran', verdict_class: 'executed', by: { kind: 'grant' }, effect, observation: { kind: 'complete', response: observed, outcome: 'succeeded' } })`,
  'blocked with an effect': `build({ kind: 'refused', verdict_class: 'blocked', effect })`,
  'denied with an observation': `build({ kind: 'refused', verdict_class: 'denied', observation: ${SENT} })`,
  'executed as a refusal': `build({ kind: 'refused', verdict_class: 'executed' })`,
  'errored as a refusal': `build({ kind: 'refused', verdict_class: 'errored' })`,
  'deferred in the name of policy': `build({ kind: 'refused', verdict_class: 'deferred' })`,
  'expiry_policy on a refusal': `build({ kind: 'refused', verdict_class: 'denied', expiry_policy: { ttl_seconds: 1, on_expiry: 'expired' } })`,
  'recovered set by the caller': `buildCapsule({ ...base, verdict: { kind: 'timed_out' }, extensions: { 'dev.capsulegate.recovered': true } }, crypto)`,
  'recovered without evidence on the word of a person': `build({ kind: 'recovered', evidence: 'missing', by: { kind: 'human', decision: person }, effect })`,
  'recovered without saying whether its evidence is there': `build({ kind: 'recovered', by: policy, effect })`,
  'a report without a permit that somebody accepted': `build({ kind: 'ungated', by: policy, effect, reason_digest: '' })`,
  'a report without a permit that gives no reason': `build({ kind: 'ungated', effect })`,
  'a gate that acts by hand': `build({ kind: 'timed_out', effect: { ...effect, acts: 'gate' } })`,
  'outcome_of set by the caller': `buildCapsule({ ...base, verdict: { kind: 'timed_out' }, extensions: { 'dev.capsulegate.outcome_of': '' } }, crypto)`,
  'selective disclosure in the extensions': `buildCapsule({ ...base, verdict: { kind: 'timed_out' }, extensions: { _sd: [] } }, crypto)`,
  'a relation other than supersedes': `buildCapsule({ ...base, verdict: { kind: 'timed_out' }, chain: { parent_capsule_id: '', relation: 'resolves' } }, crypto)`,
  'a claimed outcome that says confirmed': `buildOutcome({ identity, original: { capsule_id: '', decision_id: '', effect }, outcome: { kind: 'claimed', status: 'confirmed' }, external_ref: 'r' }, crypto)`,
  'an observed outcome without the response': `buildOutcome({ identity, original: { capsule_id: '', decision_id: '', effect }, outcome: { kind: 'observed', status: 'confirmed' }, external_ref: 'r' }, crypto)`,
}

let folder = ''
const failing = new Map<string, string[]>()
const fileOf = (name: string): string => `${name.replaceAll(/[^a-z]+/gi, '-')}.ts`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dishonest-'))
  const files = Object.entries({ ...HONEST, ...DISHONEST }).map(([name, code]) => [
    fileOf(name),
    `${PRELUDE}\n${code}\n`,
  ])
  for (const [name, text] of files) await writeFile(join(folder, String(name)), String(text))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { rootDir: '/', types: [], typeRoots: [] },
      include: ['*.ts'],
    }),
  )
  // The exit code is 1 by design; the diagnostics are what is read.
  const output = await new Promise<string>((resolve) => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    execFile(process.execPath, [tsc, '--noEmit', '--pretty', 'false', '-p', folder], (_, stdout) =>
      resolve(stdout),
    )
  })
  for (const match of output.matchAll(/([^/\\\n]+\.ts)\((\d+),\d+\): error (.*)/g)) {
    // An error in the prelude would make every snippet look refused.
    const where = Number(match[2]) > PRELUDE.split('\n').length - 1 ? 'snippet' : 'prelude'
    const file = String(match[1])
    failing.set(file, [...(failing.get(file) ?? []), `${where}: ${match[3]}`])
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('honest', () => {
  for (const name of Object.keys(HONEST))
    it(`${name}: compiles`, () => {
      expect(failing.get(fileOf(name))).toBeUndefined()
    })
})

describe('dishonest', () => {
  for (const name of Object.keys(DISHONEST))
    it(`${name}: does not compile`, () => {
      const errors = failing.get(fileOf(name)) ?? []
      expect(errors.length).toBeGreaterThan(0)
      for (const error of errors) expect(error).toMatch(/^snippet: TS2\d\d\d/)
    })
})
