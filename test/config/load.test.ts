import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { effective } from '../../src/config/effective.js'
import { loadConfig } from '../../src/config/load.js'
import { loadManifests } from '../../src/config/load-manifests.js'
import { sayProblem } from '../../src/config/model.js'
import { gateJsonSchema } from '../../src/config/schema.js'
import { readSecret } from '../../src/config/secret-ref.js'
import { PAYMENTS } from '../support/manifests.js'

const HASH = 'ab'.repeat(32)
const ENV = { PAYMENTS_TOKEN: 'Bearer s3cret', BOT_TOKEN_SHA256: HASH }
const GATE = `upstream: https://payments.internal
credential: {header: Authorization, env: PAYMENTS_TOKEN}
agents: {support-bot: {token_sha256_env: BOT_TOKEN_SHA256}}
`

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-config-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const write = (name: string, text: string | Uint8Array): string => {
  writeFileSync(join(dir, name), text)
  return join(dir, name)
}
const load = (text: string, env: Record<string, string> = ENV) =>
  loadConfig(write('gate.yaml', text), env)
const ok = (text: string, env: Record<string, string> = ENV) => {
  const loaded = load(text, env)
  if (!loaded.ok) throw new Error(loaded.problems.map(sayProblem).join('\n'))
  return loaded.config
}
const problems = (text: string, env: Record<string, string> = ENV): string[] => {
  const loaded = load(text, env)
  return loaded.ok ? [] : loaded.problems.map(sayProblem)
}

describe('gate.yaml of the design page', () => {
  it('loads, and the short forms are folded in', () => {
    const config = ok(GATE)
    expect(config.upstreams.default).toEqual({
      origin: 'https://payments.internal',
      ca_file: null,
      client: null,
      credential: { header: 'Authorization', secret: { kind: 'env', name: 'PAYMENTS_TOKEN' } },
      deadlines: {},
      paths: 'folded',
    })
    expect(config.identity.agents['support-bot']).toEqual({
      token_sha256: HASH,
      roles: [],
      developer: 'support-bot',
    })
  })

  it('has every default, with paths beside the file', () => {
    expect(ok(GATE)).toMatchObject({
      operator: 'local',
      mode: 'enforce',
      data_dir: join(dir, 'data'),
      manifests: join(dir, 'manifests'),
      policies: join(dir, 'policies'),
      listeners: {
        data: { host: '127.0.0.1', port: 8080, tls: null },
        admin: { host: '127.0.0.1', port: 8081 },
      },
      limits: { body_bytes: 10_485_760, hold_bytes: 1_048_576, drain_seconds: 30 },
      journal: { segment_bytes: 67_108_864, head_file: join(dir, 'data.head') },
      idempotency: { ttl_seconds: 86_400 },
      identity: { mandates: [] },
      intent: { pii: 'reject', skew_seconds: 300, mission_mismatches: 3 },
      sessions: { idle_seconds: 3_600 },
      approvals: { open_per_agent: 100, open_per_session: 3 },
    })
  })

  it('is frozen', () => {
    expect(() => Object.assign(ok(GATE).limits, { body_bytes: 1 })).toThrow(TypeError)
  })

  it('shows no secret in the effective view', () => {
    const shown = JSON.stringify(effective(ok(GATE)))
    expect(shown).toContain('(from env PAYMENTS_TOKEN)')
    expect(shown).not.toContain('s3cret')
    expect(shown).not.toContain(HASH)
  })
})

describe('without a file', () => {
  it('defaults and environment are enough', () => {
    expect(loadConfig(null, {})).toMatchObject({ ok: true, config: { file: null, upstreams: {} } })
  })
})

describe('the full form', () => {
  it('loads whole', () => {
    write('hash', `${HASH}\n`)
    write('cred', 'Bearer x\n')
    const config = ok(`operator: acme
mode: observe
data_dir: /var/lib/gate
upstreams:
  pay: {url: "https://pay.internal:8443", ca_file: ca.pem, cert_file: c.pem, key_file: k.pem, credential: {file: cred}, deadlines: {total_ms: 1000}}
listeners: {data: {host: 0.0.0.0, port: 443, tls: {cert_file: s.pem, key_file: s.key, client_ca_file: ca.pem}}, admin: {port: 0}}
identity:
  agents: {a: {token_sha256_file: hash, roles: [support], developer: bot@1.2}, b: {}}
  jwt: [{issuer: "https://id", audience: gate, jwks_file: jwks.json}, {issuer: "https://id2", audience: gate, jwks_url: "https://id2/keys", roles_claim: groups}]
  mandates: [{issuer: "https://m", audience: gate, jwks_file: jwks.json}, {issuer: "https://m2", audience: gate, jwks_url: "https://m2/keys", agent_claim: agent, algorithms: [ES256], require_proof: true}]
  mtls: {"CN=bot,O=acme": a}
limits: {pre_identity: {refusals: 5}}
journal: {segment_bytes: 65536, head_file: /mnt/other/head}
passthrough: [{path: /docs, upstream: pay}]
websocket: [{path: /ws, upstream: pay}]
log: {level: debug}
deny_detail: code
`)
    expect(config.upstreams.pay).toMatchObject({
      origin: 'https://pay.internal:8443',
      ca_file: join(dir, 'ca.pem'),
      client: { cert_file: join(dir, 'c.pem'), key_file: join(dir, 'k.pem') },
      deadlines: { total_ms: 1000 },
    })
    expect(config.identity.agents.a).toEqual({
      token_sha256: HASH,
      roles: ['support'],
      developer: 'bot@1.2',
    })
    expect(config.identity.jwt[1]).toMatchObject({
      jwks: { kind: 'url', url: 'https://id2/keys' },
      roles_claim: 'groups',
      agent_claim: 'sub',
    })
    expect(config.identity.mandates).toEqual([
      {
        issuer: 'https://m',
        audience: 'gate',
        jwks: { kind: 'file', path: join(dir, 'jwks.json') },
        agent_claim: 'sub',
        algorithms: ['EdDSA'],
        require_proof: false,
      },
      {
        issuer: 'https://m2',
        audience: 'gate',
        jwks: { kind: 'url', url: 'https://m2/keys' },
        agent_claim: 'agent',
        algorithms: ['ES256'],
        require_proof: true,
      },
    ])
    expect(config.limits.pre_identity).toEqual({ refusals: 5, window_seconds: 60 })
  })
})

describe('problems', () => {
  it.each([
    [
      'an unknown key',
      `${GATE}upstrem: x\n`,
      'gate.yaml:4:1: upstrem: unknown key "upstrem"; known here: upstream, credential',
    ],
    [
      'an unknown key inside',
      'listeners:\n  data:\n    prot: 1\n',
      'gate.yaml:3:5: listeners.data.prot: unknown key "prot"; known here: host, port, tls',
    ],
    ['a wrong type', 'limits: {body_bytes: "10"}', 'gate.yaml:1:10: limits.body_bytes: '],
    ['a float', 'limits: {body_bytes: 1.5}', 'limits.body_bytes'],
    [
      'an inline credential',
      'upstream: https://x\ncredential: {value: hunter2}',
      'a secret is never written here; name it by env or file',
    ],
    ['an inline token', 'agents: {a: {token: hunter2}}', 'a secret is never written here'],
    ['a secret in the URL', 'upstream: https://u:hunter2@x', 'a secret stands in the URL'],
    ['a path in the URL', 'upstream: https://x/v1', 'no path'],
    ['another scheme', 'upstream: ftp://x', 'http or https'],
    [
      'two places for a credential',
      'upstream: https://x\ncredential: {env: A, file: b}',
      'either env or file',
    ],
    ['a credential for nobody', 'credential: {env: PAYMENTS_TOKEN}', 'goes with upstream'],
    [
      'a variable that is not set',
      'upstream: https://x\ncredential: {env: NOPE}',
      'the variable NOPE is not set',
    ],
    [
      'a file that is not there',
      'upstream: https://x\ncredential: {file: nope}',
      'cannot be read (ENOENT)',
    ],
    ['a hash that is none', 'agents: {a: {token_sha256: abc}}', '64 lower-case hex'],
    [
      'a variable that holds the token itself',
      'agents: {a: {token_sha256_env: PAYMENTS_TOKEN}}',
      'not a SHA-256',
    ],
    [
      'one token for two agents',
      `agents: {a: {token_sha256: ${HASH}}, b: {token_sha256: ${HASH}}}`,
      'the same token',
    ],
    [
      'one agent twice',
      `agents: {a: {token_sha256: ${HASH}}}\nidentity: {agents: {a: {}}}`,
      'also under identity.agents',
    ],
    [
      'the default upstream twice',
      'upstream: https://x\nupstreams: {default: {url: "https://y"}}',
      'one of the two',
    ],
    ['half a client certificate', 'upstreams: {a: {url: "https://y", cert_file: c}}', 'together'],
    [
      'keys over http',
      'identity: {jwt: [{issuer: i, audience: a, jwks_url: "http://x"}]}',
      'https',
    ],
    [
      'keys of mandates over http',
      'identity: {mandates: [{issuer: i, audience: a, jwks_url: "http://x"}]}',
      'https',
    ],
    [
      'mandates without keys',
      'identity: {mandates: [{issuer: i, audience: a}]}',
      'expected either jwks_file or jwks_url',
    ],
    [
      'mandates signed with a shared secret',
      'identity: {mandates: [{issuer: i, audience: a, jwks_file: k, algorithms: [HS256]}]}',
      'algorithms',
    ],
    [
      'an issuer of both JWTs and mandates',
      'identity: {jwt: [{issuer: "https://i", audience: a, jwks_file: k}], mandates: [{issuer: "https://i", audience: b, jwks_file: k}]}',
      'https://i is under identity.mandates and under identity.jwt',
    ],
    [
      'an issuer of mandates that is there twice',
      'identity: {mandates: [{issuer: i, audience: a, jwks_file: k}, {issuer: i, audience: b, jwks_file: k}]}',
      'i is under identity.mandates twice',
    ],
    ['a route to nowhere', 'passthrough: [{path: /docs}]', 'there is no upstream default'],
    ['a certificate of nobody', 'identity: {mtls: {"CN=x": ghost}}', 'there is no agent ghost'],
    ['a mode that is none', 'mode: off', 'mode'],
    ['a list', '[a]', 'gate.yaml'],
    ['a duplicate key', 'operator: a\noperator: b', 'gate.yaml:2:1: "operator" is there twice'],
    ['an alias', 'operator: &a x\ndata_dir: *a', 'anchor'],
  ])('%s', (_name, text, message) => {
    const found = problems(text)
    expect(found.join('\n')).toContain(message)
    expect(found.join('\n')).not.toContain('hunter2')
  })

  it('a file that is not there', () => {
    const loaded = loadConfig(join(dir, 'nope.yaml'), {})
    expect(loaded.ok ? '' : loaded.problems[0]?.message).toContain('ENOENT')
  })

  it('a secret that would start another header is refused', () => {
    const read = readSecret({ kind: 'env', name: 'X' }, { X: 'a\r\nX-Admin: 1' })
    expect(read.ok).toBe(false)
  })
})

describe('environment', () => {
  it('overrides the file by section and key', () => {
    const config = ok(`${GATE}listeners: {data: {port: 1}}\n`, {
      ...ENV,
      GATE_LISTENERS__DATA__PORT: '9090',
      GATE_OPERATOR: 'acme',
      GATE_UPSTREAM: 'https://other.internal',
    })
    expect(config.listeners.data.port).toBe(9090)
    expect(config.operator).toBe('acme')
    expect(config.upstreams.default?.origin).toBe('https://other.internal')
  })

  it.each([
    ['GATE_LISTENRES__DATA__PORT', '9090', 'env GATE_LISTENRES__DATA__PORT'],
    ['GATE_LISTENERS__DATA__PORT', 'many', 'env GATE_LISTENERS__DATA__PORT'],
    ['GATE_UPSTREAM__URL', 'x', 'env GATE_UPSTREAM__URL: it goes through a value'],
    ['GATE_MODE', 'observe', 'env GATE_MODE: no variable sets the mode'],
    ['GATE_OPERATOR', '*a', 'env GATE_OPERATOR'],
  ])('%s=%s is a problem', (name, value, message) => {
    expect(problems(GATE, { ...ENV, [name]: value }).join('\n')).toContain(message)
  })

  it('leaves alone a GATE_ variable that the file names as a secret', () => {
    const config = ok('upstream: https://x\ncredential: {env: GATE_PAY_TOKEN}\n', {
      GATE_PAY_TOKEN: 's',
    })
    expect(config.upstreams.default?.credential?.secret).toEqual({
      kind: 'env',
      name: 'GATE_PAY_TOKEN',
    })
  })
})

describe('a folder of manifests', () => {
  const folder = (files: Record<string, string | Uint8Array>) => {
    mkdirSync(join(dir, 'manifests'))
    for (const [name, text] of Object.entries(files)) write(join('manifests', name), text)
    return loadManifests(join(dir, 'manifests'))
  }
  const said = (loaded: ReturnType<typeof loadManifests>): string =>
    loaded.ok ? '' : loaded.problems.map(sayProblem).join('\n')

  it('loads, with digests and a router', () => {
    const loaded = folder({ 'payments.yaml': PAYMENTS, 'README.md': 'not a manifest' })
    expect(loaded.ok && loaded.manifests.map(({ manifest }) => manifest.id)).toEqual([
      'com.acme.payments',
    ])
  })

  it('names file, line and column of each problem, of all files', () => {
    const text = said(folder({ 'a.yaml': `${PAYMENTS}x: 1\n`, 'b.yaml': `y: 1\n${PAYMENTS}` }))
    expect(text).toContain('a.yaml:10:1: unknown key "x"')
    expect(text).toContain('b.yaml:1:1: unknown key "y"')
  })

  it('refuses a manifest whose own test fails, by number, expected and got', () => {
    const tests =
      'tests:\n  - {args: {order: o, currency: EUR, amount: "500.00"}, expect: pass}\n  - {args: {order: o, currency: EUR, amount: "500.01"}, expect: pass}\n'
    expect(said(folder({ 'a.yaml': PAYMENTS + tests }))).toContain(
      'a.yaml:12:5: test 2 of create_refund: expected pass, got blocked',
    )
  })

  it('refuses manifests that claim the same target', () => {
    const other = PAYMENTS.replace('com.acme.payments', 'com.acme.other').replace(
      'create_refund',
      'r',
    )
    expect(said(folder({ 'a.yaml': PAYMENTS, 'b.yaml': other }))).toContain('same targets')
  })

  it('refuses what is empty, missing, no file, or not UTF-8', () => {
    expect(said(folder({}))).toContain('no manifest')
    expect(said(loadManifests(join(dir, 'nowhere')))).toContain('ENOENT')
    mkdirSync(join(dir, 'manifests', 'x.yaml'))
    write(join('manifests', 'y.yaml'), Uint8Array.from([0x69, 0xff]))
    const text = said(loadManifests(join(dir, 'manifests')))
    expect(text).toContain('x.yaml: not a file')
    expect(text).toContain('y.yaml: the file is not UTF-8')
  })
})

describe('the published schema', () => {
  const schema = gateJsonSchema()

  it('takes what the loader takes and refuses unknown keys', () => {
    const validate = new Ajv2020({ strict: false }).compile(schema)
    expect(validate({ upstream: 'https://x', agents: { a: { token_sha256_env: 'A' } } })).toBe(true)
    expect(validate({})).toBe(true)
    expect(validate({ upstrem: 'https://x' })).toBe(false)
    expect(validate({ listeners: { data: { port: 70_000 } } })).toBe(false)
  })

  it('demands no key at all', () => {
    expect(schema.required ?? []).toEqual([])
  })

  it('offers no place for a secret', () => {
    const names = JSON.stringify(schema).match(/"(?:value|token|password|secret|api_key)":/g)
    expect(names).toBeNull()
  })
})

describe('the sample set', () => {
  it('of the repository loads', () => {
    const loaded = loadManifests(join(import.meta.dirname, '..', '..', 'manifests'))
    expect(loaded).toMatchObject({ ok: true })
  })
})
