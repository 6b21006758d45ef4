import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { LINES } from '../../src/core/journal/vocabulary.js'
import type { Shape } from '../../src/core/json/shape.js'
import { cli } from '../cli/support.js'
import { auditedGate, dataOf } from '../support/audited-gate.js'
import { needs } from '../support/needs.js'
import { missingPythonChecker } from '../support/python-checker.js'

/** The section on digests in docs/capsule.md: each snippet runs on the files of a real gate and finds its values. */
const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'capsule.md'), 'utf8')
const [, SECTION = ''] =
  /\n## Every digest, and how to recompute it\n([\s\S]*?)\n## /.exec(PAGE) ?? []
const SNIPPETS = new Map(
  [...SECTION.matchAll(/```py\n# ([\w-]+\.py)\n([\s\S]*?)```/g)].map(([, name = '', text = '']) => [
    name,
    text,
  ]),
)
/** What the others import; they print nothing. */
const SHARED = ['digests.py', 'ed25519.py', 'bound.py', 'keyed.py']
const PRINTING = [...SNIPPETS.keys()].filter((name) => !SHARED.includes(name))

type Row = { readonly label: string; readonly computed: string; readonly recorded: string }
/** What a snippet printed. */
function run(name: string, cwd: string): Row[] {
  const { status, stdout, stderr } = spawnSync('python3', [name], { cwd, encoding: 'utf8' })
  expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' })
  return stdout
    .trimEnd()
    .split('\n')
    .map((row) => {
      const words = row.split(' ')
      const [computed = '', recorded = ''] = words.slice(-2)
      return { label: words.slice(0, -2).join(' '), computed, recorded }
    })
}

/** Members of a shape that hold a digest, by their names; lists tell theirs in words. */
function digestsIn(shape: Shape<unknown>): string[] {
  const inside = Object.entries(shape.members ?? {}).flatMap(([name, member]) => {
    const of = 'optional' in member ? member.optional : member
    const own = /64 lowercase hex digits/.test(of.says) || NAMED.test(name) ? [name] : []
    return [...own, ...digestsIn(of)]
  })
  const told = [...shape.says.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  return [...inside, ...told.filter((name) => NAMED.test(name))]
}
const NAMED = /(_digests?|hash|root|prev)$/

describe('docs/capsule.md on digests', () => {
  it('names every member of the vocabulary and of capsules that holds one', () => {
    const all = Object.values(LINES).flatMap(({ members }) => digestsIn(members as Shape<unknown>))
    const names = new Set([...all, 'prev'])
    expect(names.size).toBeGreaterThan(20)
    expect([...names].filter((name) => !SECTION.includes(`\`${name}\``))).toEqual([])
  })

  it('has snippets of at most ten lines, and one file that they share', () => {
    expect(PRINTING.length).toBeGreaterThan(10)
    for (const [name, text] of SNIPPETS) {
      const most = name === 'digests.py' ? 20 : 10
      expect([name, text.trimEnd().split('\n').length <= most]).toEqual([name, true])
    }
  })
})

const { describe: runs } = needs(missingPythonChecker())

runs('each snippet on the files of a real gate', () => {
  let home = ''
  let audit = ''
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'docs-capsule-'))
    audit = join(home, 'audit')
    const { actions, evidence } = await auditedGate(home)
    const data = ['--data', dataOf(home)]
    expect(await cli(['ledger', 'export', ...data, '--out', audit])).toMatchObject({ code: 0 })
    mkdirSync(join(audit, 'evidence'))
    const head = ['--head', join(home, 'head')]
    for (const id of [...actions, ...evidence]) {
      const { code, out, err } = await cli(['evidence', 'show', id, '--json', ...data, ...head])
      expect({ id, code, err }).toEqual({ id, code: 0, err: '' })
      writeFileSync(join(audit, 'evidence', `${id}.json`), out)
    }
    copyFileSync(join(dataOf(home), 'journal', 'snapshot'), join(audit, 'snapshot'))
    copyFileSync(join(dataOf(home), 'keys', 'tenant.salt'), join(audit, 'tenant.salt'))
    for (const [name, text] of SNIPPETS) writeFileSync(join(audit, name), text)
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  /** What each must have found at least. */
  const FOUND: { readonly [name: string]: readonly RegExp[] } = {
    'links.py': [/ prev$/, /^HEAD hash$/, /^SEGMENT_SEALED hash$/, /^SEGMENT_SEALED root$/],
    'capsule-ids.py': [/^capsule_id$/],
    'event-signatures.py': [/^HEAD sig$/, /^SEGMENT_SEALED sig$/, /^HALT sig$/, /^APPROVAL_VOTED /],
    'documents.py': [
      /^document$/,
      /capsulegate.manifest_digest$/,
      /policy_digest$/,
      /_digests\/0$/,
      /\/tools\/0\/definition$/,
      /\/seen$/,
    ],
    'evidence.py': [/^constraint /, /^cedar /, /^approval /, /^vote /, /^reason /, /^actor /],
    'octets.py': [/request_octets/, /response_octets/],
    'request-digests.py': [/^create_refund$/, /^compute$/],
    'responses.py': [/^json$/, /^octets$/, /^octets-salted$/],
    'snapshot.py': [/^state_sha256$/, /^head$/, /^snapshot sig$/],
    'keyed-names.py': [/^voter$/, /^actor$/, /^tenant_salt$/],
    'keyed-requests.py': [/^request_octets$/, /^request_digest$/],
    'keyed-calls.py': [/^call_identity$/, /^response_octets$/],
    'keyed-budgets.py': [/^scope$/],
  }

  it.each(PRINTING)('%s computes what is recorded', (name) => {
    const rows = run(name, audit)
    expect(rows.filter(({ computed, recorded }) => computed !== recorded)).toEqual([])
    const labels = rows.map(({ label }) => label)
    const missing = (FOUND[name] ?? [/^no such snippet$/]).filter(
      (label) => !labels.some((one) => label.test(one)),
    )
    expect({ missing, labels: missing.length > 0 ? labels : [] }).toEqual({
      missing: [],
      labels: [],
    })
  })
})
