import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { gateJsonSchema } from '../../src/config/schema.js'
import { OBJECT_NAMESPACE, objectIdOf, templateArgs } from '../../src/core/intent/object-id.js'
import { leavesOf } from '../../src/core/manifest/constraint/leaves.js'
import { runTests } from '../../src/core/manifest/constraint/run-tests.js'
import { MANIFEST_KEYS } from '../../src/core/manifest/expand/expand.js'
import { TOOL_KEYS } from '../../src/core/manifest/expand/rule.js'
import type { Predicate } from '../../src/core/manifest/model.js'
import { expandText, manifestOf, problemsOf } from '../support/manifests.js'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')
const page = readFileSync(join(DOCS, 'manifest.md'), 'utf8')
const blocks = [...page.matchAll(/^```yaml (\w+)\n([\s\S]*?)^```$/gm)].map(([, kind, text]) => ({
  kind: kind ?? '',
  text: text ?? '',
}))
const wrapped = (text: string): string => `id: com.acme.docs
tools:
  t:
    match: POST /t
    args: {amount: "decimal?", currency: "string?", n: "integer?", ok: "boolean?", tags: "strings?", url: "string?"}
    constraints:
${text.replace(/^(?=.)/gm, '      ')}`
const manifests = blocks.map(({ kind, text }) => (kind === 'manifest' ? text : wrapped(text)))

/** Listed here so that a kind added to the type fails to compile until the page has it. */
const KINDS: Readonly<Record<Predicate['kind'], true>> = {
  exists: true,
  absent: true,
  equals: true,
  in_set: true,
  not_in_set: true,
  regex: true,
  length: true,
  integer_range: true,
  decimal_compare: true,
  json_schema: true,
  url_host_in: true,
  hash_equals: true,
  time_window: true,
  count_in_window: true,
  sum_in_window: true,
  dedupe_key: true,
  if_present: true,
  all: true,
  any: true,
  not: true,
}

describe('docs/manifest.md', () => {
  it.each(manifests.map((text, index) => [index + 1, text] as const))(
    'example %d loads, passes its own tests and expands to itself',
    (_number, text) => {
      expect(problemsOf(text)).toEqual([])
      const manifest = manifestOf(text)
      expect(runTests(manifest, nodeCrypto)).toEqual([])
      const again = expandText(JSON.stringify(manifest))
      expect(again.ok && JSON.stringify(again.manifest)).toBe(JSON.stringify(manifest))
    },
  )

  it('has an example and a row of every predicate kind', () => {
    const used = new Set<string>()
    const collect = (predicate: Predicate): void => {
      used.add(predicate.kind)
      if (predicate.kind === 'all' || predicate.kind === 'any') predicate.of.forEach(collect)
      if (predicate.kind === 'not') collect(predicate.of)
      for (const { predicate: leaf } of leavesOf(predicate)) used.add(leaf.kind)
    }
    for (const text of manifests) {
      for (const { predicate } of Object.values(manifestOf(text).constraints)) collect(predicate)
    }
    expect([...used].sort()).toEqual(Object.keys(KINDS).sort())
    for (const kind of Object.keys(KINDS)) expect(page).toContain(`\`${kind}\``)
  })

  it('has a row for every key of a manifest and of a tool', () => {
    for (const key of [...MANIFEST_KEYS, ...TOOL_KEYS])
      expect(page).toMatch(new RegExp(`^\\|.*\`${key}\``, 'm'))
  })

  it('gives the ids of objects that the gate computes', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| `(\S+\})` \| (.*) \| `([0-9a-f-]{36})` \|$/gm)]
    expect(rows).toHaveLength(3)
    for (const [, type = '', id = '', values = '', uuid] of rows) {
      const texts = [...values.matchAll(/`([^`]+)`/g)].map(([, text]) => text ?? '')
      const args = templateArgs(id).map(
        (name, at) => [name, { type: 'string', value: texts[at] ?? '' }] as const,
      )
      expect(objectIdOf({ type, id }, new Map(args), nodeCrypto)).toBe(uuid)
    }
    expect(page).toContain(`namespace\n   \`${OBJECT_NAMESPACE}\``)
  })

  it('has no fenced YAML that this test does not load', () => {
    expect(page.match(/^```yaml/gm)?.length).toBe(blocks.length)
    expect(blocks.every(({ kind }) => kind === 'manifest' || kind === 'constraints')).toBe(true)
  })
})

describe('docs/gate.schema.json', () => {
  it('is what `config schema` prints', () => {
    const published = readFileSync(join(DOCS, 'gate.schema.json'), 'utf8')
    expect(JSON.parse(published)).toEqual(JSON.parse(JSON.stringify(gateJsonSchema())))
  })
})
