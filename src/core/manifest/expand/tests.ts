import type { ManifestTest } from '../model.js'
import { qualify } from './names.js'
import type { RuleDraft } from './rule.js'
import { type Node, type Reader, record } from './tree.js'

const VERDICTS = ['pass', 'blocked', 'ask'] as const
const RESULTS = ['pass', 'fail', 'error'] as const
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/

/** `- {tool, args, expect: blocked}`, or expect: {verdict, constraints: {id: fail}}. */
export function expandTests(
  reader: Reader,
  node: Node | undefined,
  manifestId: string,
  drafts: readonly RuleDraft[],
): readonly ManifestTest[] {
  return (reader.list(node) ?? []).flatMap((member) => {
    const fields = reader.fields(member, ['tool', 'args', 'body', 'at', 'expect'])
    if (fields === undefined) return []
    const [only] = drafts.length === 1 ? drafts : []
    const tool = reader.text(fields.get('tool'), /^.+$/, "a tool's name") ?? only?.rule.tool
    const draft = drafts.find(({ rule }) => rule.tool === tool)
    if (draft === undefined || tool === undefined) {
      reader.problem(member, 'the test names no tool of this manifest', 'write tool: name')
      return []
    }
    const args = record(
      [...(reader.fields(fields.get('args'), Object.keys(draft.rule.args)) ?? [])].map(
        ([name, value]) => [name, reader.plain(value) ?? null] as const,
      ),
    )
    const expect = readExpectation(reader, member, fields.get('expect'), manifestId)
    const body = reader.plain(fields.get('body'))
    const at = reader.text(fields.get('at'), MOMENT, 'a time like 2026-01-05T12:00:00Z')
    if (expect === undefined) return []
    return [
      {
        tool,
        args,
        ...(body === undefined ? {} : { body }),
        ...(at === undefined ? {} : { at }),
        expect,
      },
    ]
  })
}

function readExpectation(
  reader: Reader,
  test: Node,
  node: Node | undefined,
  manifestId: string,
): ManifestTest['expect'] | undefined {
  if (typeof node?.value === 'string') {
    const verdict = reader.oneOf(node, VERDICTS)
    return verdict === undefined ? undefined : { verdict }
  }
  const fields = reader.fields(node, ['verdict', 'constraints'])
  const verdict = reader.oneOf(fields?.get('verdict'), VERDICTS)
  if (verdict === undefined) {
    return reader.problem(test, 'the test expects no verdict', `expect: ${VERDICTS.join(' | ')}`)
  }
  const results = [...(reader.fields(fields?.get('constraints'), null) ?? [])].flatMap(
    ([name, member]) => {
      const result = reader.oneOf(member, RESULTS)
      return result === undefined ? [] : [[qualify(name, manifestId) ?? name, result] as const]
    },
  )
  return results.length === 0 ? { verdict } : { verdict, constraints: record(results) }
}
