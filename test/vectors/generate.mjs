/**
 * Writes class1.json: one case per rule of the seed, each expectation read from its text. Nothing of
 * the product is imported: the content address is computed here, the simple way.
 *   node test/vectors/generate.mjs > test/vectors/class1.json
 */
import { createHash } from 'node:crypto'

const D = (letter) => letter.repeat(64)

/** Small values only: no floats, no escapes beyond JSON.stringify's. */
function jcs(value) {
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${jcs(value[name])}`).join(',')}}`
}
function normalize(value) {
  if (Array.isArray(value)) return value.map(normalize)
  if (value === null || typeof value !== 'object') return value
  const kept = Object.entries(value).map(([name, member]) => [name, normalize(member)])
  return Object.fromEntries(
    kept.filter(
      ([, member]) =>
        member !== null && (typeof member !== 'object' || Object.keys(member).length > 0),
    ),
  )
}
function seal(value) {
  // Through JSON, so that `undefined` members are absent.
  const { capsule_id: _, ...capsule } = JSON.parse(JSON.stringify(value))
  const { chain: __, ...addressed } = capsule
  const id = createHash('sha256')
    .update(jcs(normalize(addressed)))
    .digest('hex')
  return { ...capsule, capsule_id: id }
}

const executed = {
  spec_version: 'draft-mih-scitt-agent-action-capsule-01',
  format_version: '2',
  action_id: 'a-1',
  action_type: 'decide',
  operator: 'acme',
  developer: 'bot@1',
  timestamp: '2026-06-13T00:00:00Z',
  effect: {
    type: 'write_order',
    status: 'confirmed',
    irreversibility_class: 'two_way',
    effect_attestation: 'gate_executed',
    request_digest: D('a'),
    response_digest: D('b'),
  },
  assurance: {
    attestation_mode: 'self_attested',
    effect_mode: 'confirmed',
    ledger_mode: 'standalone',
  },
  disposition: {
    decision: 'accept',
    approver: 'policy',
    human_disposed: false,
    verdict_class: 'executed',
  },
}
const { effect: _effect, ...rest } = executed
const denied = {
  ...rest,
  assurance: { ...rest.assurance, effect_mode: 'not_applicable' },
  disposition: { ...rest.disposition, decision: 'reject', verdict_class: 'denied' },
}
const effect = (change, mode = 'dispatched_unconfirmed') => ({
  ...executed,
  effect: { ...executed.effect, ...change },
  assurance: { ...executed.assurance, effect_mode: mode },
})
const without = (name, from = executed) =>
  Object.fromEntries(Object.entries(from).filter(([member]) => member !== name))
const disposed = (change, from = denied) => ({
  ...from,
  disposition: { ...from.disposition, ...change },
})
const planned = {
  response_digest: undefined,
  request_digest: undefined,
  effect_attestation: undefined,
}
const record = {
  id: 'com.acme.cap',
  result: 'fail',
  severity: 'high',
  blocking: true,
  evidence_digest: D('c'),
}

const cases = []
/** `strict` and `compat` list the findings as "check severity"; ok is that no error is among them. */
const add = (section, name, value, strict, compat = strict) =>
  cases.push({
    section,
    name,
    input: typeof value === 'string' ? value : JSON.stringify(seal(value)),
    strict,
    compat,
  })
const raw = (value, from, to) => JSON.stringify(seal(value)).replace(from, to)

// 5.1 identity
add('5.1', 'a clean executed capsule', executed, [])
for (const name of [
  'spec_version',
  'action_id',
  'action_type',
  'operator',
  'developer',
  'timestamp',
])
  add('5.1', `${name} absent`, without(name), ['1 error'])
add('5.1', 'format_version absent', without('format_version'), ['1 error'])
add('5.1', 'capsule_id absent', raw(executed, /"capsule_id":"[0-9a-f]+"/, '"x":null'), ['1 error'])
add('5.1', 'operator is a number', { ...executed, operator: 7 }, ['1 error'])
add('5.1', 'operator empty', { ...executed, operator: '' }, ['1 error'], [])
add('5.1', 'action_type outside fyi and decide', { ...executed, action_type: 'maybe' }, ['1 error'])
add(
  '5.1',
  'timestamp with an offset',
  { ...executed, timestamp: '2026-06-13T00:00:00+00:00' },
  ['1 error'],
  [],
)
add(
  '5.1',
  'timestamp on a day that is not',
  { ...executed, timestamp: '2026-02-30T00:00:00Z' },
  ['1 error'],
  [],
)
add(
  '5.1',
  'another spec_version is never rejected',
  { ...executed, spec_version: 'draft-mih-scitt-agent-action-capsule-00' },
  [],
)
add(
  '5.1',
  'a float in the payload',
  raw({ ...executed, amount: 7 }, '"amount":7', '"amount":7.0'),
  ['1 error'],
)
add(
  '5.1',
  'an exponent in the payload',
  raw({ ...executed, amount: 7 }, '"amount":7', '"amount":7e0'),
  ['1 error'],
)
add(
  '5.1',
  'a float inside chain, which the id does not cover',
  raw(
    { ...executed, chain: { parent_capsule_id: D('d'), relation: 'supersedes', n: 1 } },
    '"n":1',
    '"n":1.0',
  ),
  ['1 error', '6 info'],
)
add(
  '5.1',
  'an integer past 2^53-1',
  raw({ ...executed, amount: 7 }, '"amount":7', '"amount":9007199254740993'),
  ['1 error'],
)
// 2 and 5.1: the content address
add(
  '5.1',
  'capsule_id of another capsule',
  raw(executed, /"capsule_id":"[0-9a-f]+"/, `"capsule_id":"${D('0')}"`),
  ['2 error'],
)
add(
  '5.1',
  'capsule_id in upper case',
  raw(executed, /"capsule_id":"([0-9a-f]+)"/, (_, id) => `"capsule_id":"${id.toUpperCase()}"`),
  ['1 error', '2 error'],
)
add('5.1', 'a member changed after sealing', raw(executed, '"acme"', '"evil"'), ['2 error'])
add('5.1', 'a member added after sealing', raw(executed, '{"spec', '{"note":"x","spec'), [
  '2 error',
])
add(
  '2',
  'members that normalize away leave the id as it is',
  raw(executed, '{"spec', '{"note":null,"more":{"deep":[]},"spec'),
  [],
)
add(
  '2',
  'array elements are never dropped',
  raw({ ...executed, list: [null, {}] }, '[null,{}]', '[null]'),
  ['2 error'],
)
add(
  '2',
  'white space and member order do not matter',
  JSON.stringify(Object.fromEntries(Object.entries(seal(executed)).reverse()), null, 2),
  [],
)
// 5.2 effects
add('5.2', 'confirmed without response_digest', effect({ response_digest: undefined }), ['3 error'])
add('5.2', 'confirmed with a malformed response_digest', effect({ response_digest: 'b' }), [
  '3 error',
])
add(
  '5.2',
  'planned without digests or attestation',
  disposed({}, { ...denied, effect: { ...executed.effect, ...planned, status: 'planned' } }),
  [],
)
add(
  '5.2',
  'planned with request_digest',
  disposed(
    {},
    {
      ...denied,
      effect: { ...executed.effect, ...planned, request_digest: D('a'), status: 'planned' },
    },
  ),
  ['3 error'],
  [],
)
add(
  '5.2',
  'planned with effect_attestation',
  disposed(
    {},
    {
      ...denied,
      effect: {
        ...executed.effect,
        ...planned,
        effect_attestation: 'gate_executed',
        status: 'planned',
      },
    },
  ),
  ['5 error'],
)
add('5.2', 'dispatched with response_digest', effect({ status: 'dispatched' }), ['3 error'], [])
add('5.2', 'dispatched', effect({ status: 'dispatched', response_digest: undefined }), [])
add(
  '5.2',
  'dispatched without effect_attestation',
  effect({ status: 'dispatched', response_digest: undefined, effect_attestation: undefined }),
  ['5 error'],
)
add('5.2', 'failed with attestation', effect({ status: 'failed' }), [])
add(
  '6',
  'failed without attestation (the note to check 5)',
  effect({ status: 'failed', effect_attestation: undefined }),
  ['5 error'],
)
add(
  '6',
  'reverted without attestation (the note to check 5)',
  effect({ status: 'reverted', effect_attestation: undefined }),
  ['5 error'],
)
add('5.2', 'a status outside the five', effect({ status: 'finished' }), ['1 error'], [])
add(
  '5.2',
  'a malformed request_digest',
  effect({ request_digest: 'xyz' }, 'confirmed'),
  ['1 error'],
  [],
)
add(
  '5.2',
  'confirmed by the runtime',
  effect({ effect_attestation: 'runtime_claimed' }, 'confirmed'),
  [],
)
add(
  '5.2',
  'an unknown attestation informs and grades no higher',
  effect({ effect_attestation: 'tee_anchored' }, 'confirmed'),
  ['8 info', '8 info'],
)
// 5.3 assurance
add('5.3', 'no assurance', without('assurance'), ['1 error'], [])
add(
  '5.3',
  'a mode outside its domain',
  { ...executed, assurance: { ...executed.assurance, ledger_mode: 'golden' } },
  ['1 error'],
  [],
)
add(
  '5.3',
  'confirmed claimed over a dispatch',
  effect({ status: 'dispatched', response_digest: undefined }, 'confirmed'),
  ['7 error'],
)
add(
  '5.3',
  'nothing happened, claimed over a dispatch',
  effect({ status: 'dispatched', response_digest: undefined }, 'not_applicable'),
  ['7 error'],
  [],
)
add(
  '3.2',
  'anchored claimed without a receipt',
  { ...executed, assurance: { ...executed.assurance, attestation_mode: 'anchored' } },
  ['7 info'],
)
add(
  '5.3',
  'chained claimed without a chain',
  { ...executed, assurance: { ...executed.assurance, ledger_mode: 'chained' } },
  ['7 info'],
)
// 5.4 disposition
add('5.4', 'approver absent', disposed({ approver: undefined }), ['1 error'])
add('5.4', 'approver outside the closed enum', disposed({ approver: 'counterparty' }), ['1 error'])
add('5.4', 'decision absent', disposed({ decision: undefined }), ['1 error'])
add('5.4', 'human_disposed is text', disposed({ human_disposed: 'false' }), ['1 error'])
add(
  '5.4',
  'human_disposed under policy',
  disposed({ human_disposed: true }),
  ['null error'],
  ['null warning'],
)
add('5.4', 'a person disposed', disposed({ human_disposed: true, approver: 'human' }), [])
add(
  '5.4',
  'verdict_class absent on a clean executed',
  disposed({ verdict_class: undefined }, executed),
  [],
)
add('5.4', 'a malformed reason_digest', disposed({ reason_digest: 'because' }), ['1 error'], [])
const deferral = {
  decision: 'deferred',
  approver: 'human',
  human_disposed: true,
  verdict_class: 'deferred',
}
const expiry = { ttl_seconds: 60, on_expiry: 'expired' }
add('5.4', 'a deferral with its expiry', disposed({ ...deferral, expiry_policy: expiry }), [])
add('5.4', 'expiry on something else', disposed({ expiry_policy: expiry }), ['1 error'], [])
add(
  '5.4',
  'expiry as a duration string',
  disposed({ ...deferral, expiry_policy: { ...expiry, ttl_seconds: 'PT1M' } }),
  ['1 error'],
  [],
)
add(
  '5.4',
  'expiry into an unknown end',
  disposed({ ...deferral, expiry_policy: { ...expiry, on_expiry: 'forgotten' } }),
  ['1 error'],
  [],
)
// 5.4.2 orthogonality
for (const verdict_class of [
  'blocked',
  'hitl_dispatched',
  'denied',
  'engine_failure',
  'deferred',
  'needs_decision',
  'expired',
  'escalated',
  'resolved',
]) {
  add('5.4.2', `${verdict_class} without an effect`, disposed({ verdict_class }), [])
  add(
    '5.4.2',
    `${verdict_class} with a dispatched effect`,
    disposed({ verdict_class }, effect({ status: 'dispatched', response_digest: undefined })),
    ['4 error'],
  )
}
add(
  '5.4.2',
  'denied with confirmed and no response: check 3, then check 4',
  disposed({ verdict_class: 'denied' }, effect({ response_digest: undefined })),
  ['3 error', '4 error'],
)
add('5.4.2', 'timeout before dispatch', disposed({ verdict_class: 'timeout' }), [])
add(
  '5.4.2',
  'timeout after dispatch',
  disposed(
    { verdict_class: 'timeout' },
    effect({ status: 'dispatched', response_digest: undefined }),
  ),
  [],
)
add(
  '5.4.2',
  'errored after dispatch',
  disposed(
    { verdict_class: 'errored' },
    effect({ status: 'dispatched', response_digest: undefined }),
  ),
  [],
)
add(
  '5.4.2',
  'errored although nothing ran',
  disposed({ verdict_class: 'errored' }),
  ['4 error'],
  [],
)
// 5.4.4 chains
const chain = (value) => ({
  ...denied,
  assurance: { ...denied.assurance, ledger_mode: 'chained' },
  chain: value,
})
add(
  '5.4.4',
  'a parent nobody was asked about',
  chain({ parent_capsule_id: D('d'), relation: 'supersedes' }),
  ['6 info'],
)
add('5.4.4', 'a malformed parent', chain({ parent_capsule_id: 'd', relation: 'supersedes' }), [
  '6 error',
  '7 info',
])
add('5.4.4', 'no relation', chain({ parent_capsule_id: D('d') }), ['6 error', '6 info'])
add(
  '5.4.4',
  'an unregistered relation informs',
  chain({ parent_capsule_id: D('d'), relation: 'amends' }),
  ['6 info', '8 info'],
)
const self = seal(chain({}))
add(
  '5.4.4',
  'its own parent',
  JSON.stringify({
    ...self,
    chain: { parent_capsule_id: self.capsule_id, relation: 'supersedes' },
  }),
  ['6 error', '6 info'],
  ['6 info'],
)
// 8.1 constraints
add('8.1', 'a constraint record', { ...denied, constraints: [record] }, [])
for (const [name, change] of Object.entries({
  'no id': { id: undefined },
  'a result outside pass, fail, n/a': { result: 'maybe' },
  'no severity': { severity: undefined },
  'blocking as text': { blocking: 'true' },
  'a malformed evidence_digest': { evidence_digest: 'e' },
}))
  add(
    '8.1',
    `a constraint record with ${name}`,
    { ...denied, constraints: [{ ...record, ...change }] },
    ['1 error'],
    [],
  )
add('8.1', 'constraints that are no array', { ...denied, constraints: { id: 'x' } }, ['1 error'])
// 6, check 1: blocks
for (const name of ['effect', 'assurance', 'disposition', 'chain'])
  add('6', `${name} is null`, raw(without(name, denied), '{"spec', `{"${name}":null,"spec`), [
    '1 error',
  ])
add('6', 'not an object', '[]', ['1 error'])
add('6', 'not JSON', '{"a":', ['1 error'])
add('6', 'a duplicate name', '{"a":1,"a":1}', ['1 error'])
// 9 and 12: registries and extensions
add(
  '12',
  'unregistered values inform in their order',
  effect(
    { type: 'com.acme.refund', irreversibility_class: 'odd', effect_attestation: 'gate_executed' },
    'confirmed',
  ),
  ['8 info', '8 info'],
)
add(
  '12',
  'an unregistered verdict_class and decision',
  disposed({ verdict_class: 'paused', decision: 'wait' }),
  ['8 info', '8 info'],
)
add(
  '9',
  'unknown members are covered by the id and otherwise left alone',
  { ...executed, 'com.acme.note': 'x' },
  [],
)
add(
  '9.2',
  'selective disclosure is reported, not interpreted',
  { ...executed, _sd_alg: 'sha-256', _sd: ['x'] },
  ['null info', 'null info'],
)

process.stdout.write(`${JSON.stringify(cases, null, 1)}\n`)
