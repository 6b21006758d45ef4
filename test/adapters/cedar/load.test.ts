import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { afterAll, describe, expect, it } from '@jest/globals'
import { warmUp } from '../../../src/adapters/cedar/evaluate/warm-up.js'
import { loadPolicies } from '../../../src/adapters/cedar/load/load.js'
import { splitPolicies } from '../../../src/adapters/cedar/load/split.js'
import { startWorker } from '../../../src/adapters/cedar/load/worker.js'
import {
  engineFor,
  findingsOf,
  loadedSet,
  policyFolder,
  REFUND_RULES,
  removeFolders,
} from './folder.js'

afterAll(removeFolders)

const PERMIT = '@id("p") permit (principal, action == Action::"search", resource);'
const refused = async (text: string) =>
  (await findingsOf(text, REFUND_RULES)).map(({ severity, code, line }) => [severity, code, line])
const found = async (files: Record<string, string | Uint8Array>) => {
  const result = await loadPolicies(policyFolder(files), REFUND_RULES)
  return result.ok ? [] : result.findings.map(({ code, file }) => [code, file])
}

describe('loading a folder', () => {
  it('reads every .cedar file, and knows each policy by @id, file and line', async () => {
    const folder = policyFolder({
      'b.cedar':
        '// a "comment"; with traps\n\n@id("two")\npermit (principal, action == Action::"search", resource);',
      'a.cedar': `${PERMIT} // { ( [\r\n@id("three") forbid (principal, action, resource) when { principal.developer == "a;//\\";b" };`,
      'notes.txt': 'not a policy',
      '.hidden.cedar': 'not read',
    })
    const result = await loadPolicies(folder, REFUND_RULES)
    if (!result.ok) throw new Error(JSON.stringify(result.findings))
    expect(result.set.policies.map(({ id, file, line }) => [id, file, line])).toEqual([
      ['p', 'a.cedar', 1],
      ['three', 'a.cedar', 2],
      ['two', 'b.cedar', 3],
    ])
    expect(result.set.policies[1]?.actions).toEqual(['create_refund', 'search'])
  })

  it('follows the links a Kubernetes volume is made of', async () => {
    const folder = policyFolder({})
    mkdirSync(join(folder, '..data'))
    writeFileSync(join(folder, '..data', 'p.cedar'), PERMIT)
    symlinkSync(join('..data', 'p.cedar'), join(folder, 'p.cedar'))
    expect(await loadPolicies(folder, REFUND_RULES)).toMatchObject({ ok: true })
  })

  it('refuses a folder that is not there, empty, or without a policy', async () => {
    const missing = await loadPolicies(join(policyFolder({}), 'gone'), REFUND_RULES)
    expect(missing).toMatchObject({ ok: false, findings: [{ code: 'folder_unreadable' }] })
    expect(await found({})).toEqual([['set_empty', null]])
    expect(await found({ 'p.cedar': '// nothing\n' })).toEqual([['set_empty', null]])
  })

  it('refuses what looks like a policy and cannot be read, rather than going without it', async () => {
    expect(await found({ 'a.cedar': PERMIT, 'b.cedar': new Uint8Array([0x80]) })).toEqual([
      ['file_unreadable', 'b.cedar'],
    ])
    expect(await found({ 'a.cedar': `\uFEFF${PERMIT}` })).toEqual([['file_unreadable', 'a.cedar']])
    const nested = policyFolder({ 'a.cedar': PERMIT })
    mkdirSync(join(nested, 'more'))
    writeFileSync(join(nested, 'more', 'b.cedar'), PERMIT)
    symlinkSync('nowhere', join(nested, 'c.cedar'))
    const result = await loadPolicies(nested, REFUND_RULES)
    expect(result.ok ? [] : result.findings.map(({ code }) => code)).toEqual([
      'file_unreadable',
      'folder_nested',
    ])
  })

  it('has a digest of the ids, texts and schema, not of files and comments between', async () => {
    const one = await loadedSet(
      `${PERMIT}\n@id("q") forbid (principal, action, resource);`,
      REFUND_RULES,
    )
    const two = await loadedSet(
      `@id("q") forbid (principal, action, resource);// x\n${PERMIT}`,
      REFUND_RULES,
    )
    const other = await loadedSet(
      `${PERMIT}\n@id("q") forbid (principal, action, resource );`,
      REFUND_RULES,
    )
    const schema = await loadedSet(
      `${PERMIT}\n@id("q") forbid (principal, action, resource);`,
      REFUND_RULES.slice(1),
    )
    expect(two.digest).toBe(one.digest)
    expect(new Set([one.digest, other.digest, schema.digest]).size).toBe(3)
    expect(one.digest).toBe(createHash('sha256').update(one.document).digest('hex'))
    expect(JSON.parse(one.document).policies).toEqual({
      p: PERMIT,
      q: '@id("q") forbid (principal, action, resource);',
    })
  })

  it('refuses two rules that give one action different arguments, and names both', async () => {
    const rules = [...REFUND_RULES, { tool: 'find', action: 'search', args: {} }]
    const result = await loadPolicies(policyFolder({ 'p.cedar': PERMIT }), rules)
    expect(result).toMatchObject({ ok: false, findings: [{ code: 'action_args_differ' }] })
    expect(JSON.stringify(result)).toMatch(/search.*find/)
  })

  it('takes action names Cedar has to escape', async () => {
    const action = 'we"ird\n\\é\u0001'
    const set = await loadedSet('@id("p") permit (principal, action, resource);', [
      { tool: 't', action, args: {} },
    ])
    expect(set.policies[0]?.actions).toEqual([action])
  })
})

describe('refusing one policy', () => {
  it.each<[string, string, string, number]>([
    ['no @id', 'permit (principal, action, resource);', 'id_missing', 1],
    ['an @id without a value', '@id permit (principal, action, resource);', 'id_missing', 1],
    [
      'an @id that is no name',
      '@id("__proto__") permit (principal, action, resource);',
      'id_form',
      1,
    ],
    ['an @id twice', `${PERMIT}\n\n${PERMIT}`, 'id_duplicate', 3],
    [
      'a template',
      '@id("t") permit (principal == ?principal, action, resource);',
      'policy_template',
      1,
    ],
    [
      'a syntax error',
      `${PERMIT}\n@id("x") permit (principal, action, resource)\nwhen { é };`,
      'policy_syntax',
      3,
    ],
    [
      'a policy without an end',
      `${PERMIT}\n@id("x") permit (principal, action, resource)`,
      'policy_syntax',
      2,
    ],
    [
      'a string without an end',
      `${PERMIT}\n@id("x) permit (principal, action, resource);`,
      'policy_syntax',
      2,
    ],
    [
      'an unknown action',
      '@id("x") permit (principal, action == Action::"fly", resource);',
      'policy_invalid',
      1,
    ],
    [
      'an unknown entity type',
      '@id("x") permit (principal == User::"a", action, resource);',
      'policy_invalid',
      1,
    ],
    [
      'an unknown attribute',
      '@id("x") permit (principal, action == Action::"search", resource)\nwhen {\n context.args.limti > 1 };',
      'policy_invalid',
      3,
    ],
    [
      'a comparison of unlike types',
      '@id("x") permit (principal, action == Action::"search", resource) when { context.args.limit == "1" };',
      'policy_invalid',
      1,
    ],
    [
      'an impossible policy',
      '@id("x") forbid (principal, action, resource) when { false };',
      'policy_impossible',
      1,
    ],
    [
      'a forbid on nobody',
      '@id("x") forbid (principal is Tool, action, resource);',
      'policy_impossible',
      1,
    ],
    [
      'hidden bidirectional controls',
      '@id("x") permit (principal, action, resource) when { principal.developer == "a\u202e" };',
      'policy_suspicious_text',
      1,
    ],
    [
      'an unknown annotation',
      '@id("x") @hme("required") forbid (principal, action, resource);',
      'annotation_unknown',
      1,
    ],
    [
      'an unknown mode',
      '@id("x") @mode("off") forbid (principal, action, resource);',
      'mode_value',
      1,
    ],
    [
      '@hem with another value',
      '@id("x") @hem("maybe") forbid (principal, action, resource) unless { context.approval.granted };',
      'hem_value',
      1,
    ],
    [
      'an empty @reason',
      '@id("x") @reason(" ") forbid (principal, action, resource);',
      'reason_empty',
      1,
    ],
    [
      '@hem on a permit',
      '@id("x") @hem("required") permit (principal, action == Action::"search", resource);',
      'hem_on_permit',
      1,
    ],
    [
      '@hem that no approval lifts',
      '@id("x") @hem("required") forbid (principal, action, resource);',
      'hem_not_liftable',
      1,
    ],
    [
      '@hem that an approval lifts sometimes',
      '@id("x") @hem("required") forbid (principal, action, resource) unless { context.approval.granted && principal.developer == "acme" };',
      'hem_not_liftable',
      1,
    ],
    [
      'a policy of 33 KB',
      `@id("x") permit (principal, action, resource) when { principal.developer == "${'x'.repeat(33_000)}" };`,
      'policy_too_large',
      1,
    ],
    [
      '200 nested parentheses',
      `@id("x") permit (principal, action, resource) when { ${'('.repeat(200)}true${')'.repeat(200)} };`,
      'policy_too_deep',
      1,
    ],
    [
      '3000 clauses',
      `@id("x") permit (principal, action, resource) ${'when{true}'.repeat(3000)};`,
      'policy_too_deep',
      1,
    ],
  ])('%s', async (_case, text, code, line) => {
    expect(await refused(text)).toContainEqual(['error', code, line])
  })

  it('gives every finding a message and a way out', async () => {
    for (const { message, help } of await findingsOf(
      '@id("x") @hem("required") @mode("off") @y permit (principal, action == Action::"fly", resource);',
      REFUND_RULES,
    )) {
      expect(message.length).toBeGreaterThan(5)
      expect(help.length).toBeGreaterThan(5)
    }
  })
})

describe('hostile text', () => {
  const HOSTILE = `@id("x") permit (principal, action, resource) when { ${Array(3000).fill('true').join('||')} };`

  it('that takes down the worker is refused at its place, and the deciding instance lives', async () => {
    const engine = await engineFor(PERMIT, REFUND_RULES)
    const findings = await findingsOf(`${PERMIT}\n${HOSTILE}`, REFUND_RULES)
    expect(findings).toMatchObject([{ severity: 'error', code: 'policy_crashes', line: 2 }])
    expect(warmUp(engine)).toEqual([])
    expect(await loadPolicies(policyFolder({ 'p.cedar': PERMIT }), REFUND_RULES)).toMatchObject({
      ok: true,
    })
  })

  it('traps the instance in a worker, which says which call it was', async () => {
    const worker = startWorker()
    const nested = `permit (principal, action, resource) when { ${'('.repeat(300)}true${')'.repeat(300)} };`
    const answer = await worker.call('policyToJson', [[PERMIT], [nested], [PERMIT]])
    expect(answer).toMatchObject({ ok: false, at: 1 })
    await worker.close()
    expect(await worker.call('policyToJson', [[PERMIT]])).toMatchObject({ ok: false, at: null })
  })

  it('that keeps the worker busy past the deadline is refused', async () => {
    const worker = startWorker(0)
    const answer = await worker.call('policyToJson', [[PERMIT]])
    expect(answer).toMatchObject({ ok: false, at: null, detail: 'no answer within 0 ms' })
    await worker.close()
  })

  it('cannot hide a policy behind a comment that Cedar ends at a carriage return', () => {
    const hidden = '@id("f") forbid (principal, action, resource);'
    const { policies } = splitPolicies('p', `${PERMIT} // x\r${hidden}`)
    expect(policies.map(({ text }) => text)).toEqual([PERMIT, hidden])
    const { policies: parsed } = cedar.policySetTextToParts(`${PERMIT} // x\r${hidden}`) as {
      policies: string[]
    }
    expect(parsed.length).toBe(2)
  })

  it('is split in linear time, unfinished strings included', () => {
    const { policies, findings } = splitPolicies('p', '\\"'.repeat(1_000_000))
    expect(policies).toEqual([])
    expect(findings.map(({ code }) => code)).toEqual(['policy_syntax'])
  })
})

describe('an optional argument in a policy', () => {
  const forbid = (condition: string) =>
    `${PERMIT}\n@id("f") forbid (principal, action == Action::"search", resource) ${condition};`
  const permit = (condition: string) =>
    `@id("f") permit (principal, action == Action::"search", resource) ${condition};`
  const bad = 'context.args.text == "bad"'

  it.each([
    ['when { has && … }', `when { context.args has text && ${bad} }`],
    [
      'when { has && … || other }',
      `when { (context.args has text && ${bad}) || context.args.limit > 5 }`,
    ],
    ['context has args.text', `when { context has args.text && ${bad} }`],
    ['unless { !(has && …) }', `unless { !(context.args has text && ${bad}) }`],
    [
      'a test hidden in a condition',
      `when { if (context.args has text && ${bad}) then true else false }`,
    ],
    ['a test hidden in a comparison', 'when { (context.args has text) == true }'],
  ])('is refused where leaving it out passes a forbid: %s', async (_case, condition) => {
    expect(await refused(forbid(condition))).toEqual([['error', 'absence_lets_through', 2]])
  })

  it.each([
    ['unless { has && ok }', 'unless { context.args has text && context.args.text == "ok" }'],
    ['else true', `when { if context.args has text then ${bad} else true }`],
    ['else false, said aloud', `when { if context.args has text then ${bad} else false }`],
    [
      'two tests at once',
      'when { if context.args has text && context.args has deep then context.args.deep else true }',
    ],
    ['when { !has }', 'when { !(context.args has text) }'],
    ['no optional argument at all', 'when { context.args.limit > 5 }'],
  ])('is taken where the author says what absence means: %s', async (_case, condition) => {
    expect(await refused(forbid(condition))).toEqual([])
  })

  it('is a warning where leaving it out passes a permit', async () => {
    expect(await refused(permit(`unless { context.args has text && ${bad} }`))).toEqual([
      ['warning', 'absence_lets_through', 1],
    ])
    expect(
      await refused(permit('when { context.args has text && context.args.text == "ok" }')),
    ).toEqual([])
  })

  it('is not looked for in an action where it is required', async () => {
    const text = `@id("f") forbid (principal, action == Action::"create_refund", resource) when { context.args has order && context.args.order == "x" };`
    expect(await refused(text)).toEqual([])
  })
})

describe('@hem', () => {
  it.each([
    'unless { context.approval.granted }',
    'when { context.args.limit > 5 } unless { context.approval.granted }',
    'when { !context.approval.granted && context.args.limit > 5 }',
    'when { context.args.limit > 5 && context.approval.granted == false }',
    'unless { context.args.limit < 5 || context.approval.granted }',
    'when { if context.approval.granted then false else context.args.limit > 5 }',
  ])('is taken where an approval lifts it: %s', async (condition) => {
    const text = `@id("x") @hem("required") forbid (principal, action == Action::"search", resource) ${condition};`
    expect(await refused(text)).toEqual([])
  })

  it.each([
    'when { context.approval.granted || context.args.limit > 5 }',
    'when { !context.approval.granted || context.args.limit > 5 }',
    'when { if context.args.limit > 5 then true else !context.approval.granted }',
  ])('is refused where an approval may not lift it: %s', async (condition) => {
    const text = `@id("x") @hem("required") forbid (principal, action == Action::"search", resource) ${condition};`
    expect(await refused(text)).toEqual([['error', 'hem_not_liftable', 1]])
  })
})

describe('warnings do not stop a load', () => {
  it.each([
    [
      'a permit of everything',
      '@id("x") permit (principal, action, resource);',
      'permits_everything',
    ],
    [
      'an approval nobody asks for',
      `${PERMIT} @id("x") forbid (principal, action, resource) unless { context.approval.granted };`,
      'approval_without_hem',
    ],
    [
      'only observed policies',
      '@id("x") @mode("observe") permit (principal, action == Action::"search", resource);',
      'nothing_enforced',
    ],
    [
      'two scripts in a string',
      '@id("x") permit (principal, action, resource) when { principal.developer == "раyments" };',
      'policy_suspicious_text',
    ],
  ])('%s', async (_case, text, code) => {
    const result = await loadPolicies(policyFolder({ 'p.cedar': text }), REFUND_RULES)
    expect(result.ok && result.warnings.map((warning) => warning.code)).toEqual([code])
  })
})

describe('the deepest policies that load', () => {
  const deep: Readonly<Record<string, (n: number) => string>> = {
    alternatives: (n) => Array(n).fill('principal.developer == "a"').join(' || '),
    sums: (n) => `context.args.limit > ${Array(n).fill('1').join(' + ')}`,
    conditionals: (n) => `${'if principal.developer == "a" then true else '.repeat(n)}false`,
    lists: (n) => `${'['.repeat(n)}1${']'.repeat(n)} == ${'['.repeat(n)}1${']'.repeat(n)}`,
    parentheses: (n) => `${'('.repeat(n)}principal.developer == "a"${')'.repeat(n)}`,
    records: (n) => `${'{a:'.repeat(n)}1${'}'.repeat(n)} == ${'{a:'.repeat(n)}1${'}'.repeat(n)}`,
  }
  it.each(Object.keys(deep))('%s: refused or evaluated, never a crash', async (kind) => {
    const outcomes = new Set<string>()
    for (const n of [31, 33, 61, 64, 66]) {
      const text = `@id("x") permit (principal, action == Action::"search", resource) when { ${deep[kind]?.(n)} };`
      for (const [, code] of await refused(text)) outcomes.add(String(code))
    }
    outcomes.delete('policy_impossible')
    expect([...outcomes]).toEqual(['policy_too_deep'])
  })
})
