import type { IrreversibilityClass } from '../capsule/registries.js'
import type { Hashing } from '../crypto/crypto.js'
import { textDigest } from '../json/build.js'
import { exactText, isObject, type JsonObject } from '../json/value.js'

/** A tool as its server describes it, and what of that the gate goes by. */
export type ToolDefinition = {
  readonly tool: string
  /** SHA-256 of `document`. */
  readonly digest: string
  /** The whole definition, members sorted by name, numbers as they were sent. */
  readonly document: string
  readonly hinted: IrreversibilityClass
  /** Its results have a schema. */
  readonly typed: boolean
  /** Arguments that HTTP repeats in its head (`x-mcp-header`). */
  readonly headers: readonly HeaderArgument[]
}
export type HeaderArgument = { readonly header: string; readonly path: readonly string[] }

/** Null for an entry that names no tool. */
export function describeTool(value: JsonObject, hashing: Hashing): ToolDefinition | null {
  const tool = value.get('name')
  if (typeof tool !== 'string' || tool === '') return null
  const document = exactText(value)
  const schema = value.get('inputSchema')
  return {
    tool,
    digest: textDigest(document, hashing),
    document,
    hinted: hintedClass(value),
    typed: isObject(value.get('outputSchema')),
    headers: isObject(schema) ? [...headersIn(schema, [])] : [],
  }
}

/** Schemas hold fractions, which JCS digests of capsules do not: so the text itself is digested. */
export const definitionDigest = (value: JsonObject, hashing: Hashing): string =>
  textDigest(exactText(value), hashing)

/** What its annotations amount to; without them a tool is taken to be as consequential as it may be. */
export function hintedClass(value: JsonObject): IrreversibilityClass {
  const annotations = value.get('annotations')
  if (!isObject(annotations)) return 'one_way_consequential'
  if (annotations.get('readOnlyHint') === true) return 'two_way'
  return annotations.get('destructiveHint') === false
    ? 'one_way_recoverable'
    : 'one_way_consequential'
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const MOST_DEPTH = 16

function* headersIn(schema: JsonObject, path: readonly string[]): Generator<HeaderArgument> {
  const properties = schema.get('properties')
  if (!isObject(properties) || path.length >= MOST_DEPTH) return
  for (const [name, property] of properties) {
    if (!isObject(property)) continue
    const header = property.get('x-mcp-header')
    const at = [...path, name]
    if (typeof header === 'string' && TOKEN.test(header)) yield { header, path: at }
    yield* headersIn(property, at)
  }
}
