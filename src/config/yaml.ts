import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, Scalar } from 'yaml'
import { JsonNumber, type JsonValue } from '../core/json/value.js'
import type { Position, Problem, SourceTree } from '../core/manifest/expand/tree.js'
import { escapePointer } from '../core/manifest/route/pointer.js'

/**
 * YAML 1.2 core as plain data: one document, no aliases, anchors, tags or merge keys, no name twice,
 * numbers in JSON's own notation with their token kept. What is left is JSON with better manners.
 */
export type YamlRead =
  | { readonly ok: true; readonly tree: SourceTree }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const MAX_CHARACTERS = 1024 * 1024
const MAX_DEPTH = 64
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

class Refusal extends Error {
  readonly node: Node | null
  readonly path: string
  readonly wayOut: string
  constructor(node: Node | null, path: string, message: string, wayOut: string) {
    super(message)
    this.node = node
    this.path = path
    this.wayOut = wayOut
  }
}

export function readYaml(text: string): YamlRead {
  const lines = new LineCounter()
  const fail = (message: string, wayOut: string, path = '', offset?: number): YamlRead => {
    const at = offset === undefined ? undefined : position(lines, offset)
    return { ok: false, problems: [{ path, ...(at ?? {}), message, way_out: wayOut }] }
  }
  if (text.length > MAX_CHARACTERS) return fail('the file is over 1 MiB', 'split it')
  if (depthOver(text, MAX_DEPTH)) return fail('nested too deeply', `at most ${MAX_DEPTH} levels`)
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      version: '1.2',
      schema: 'core',
      merge: false,
      // `convert` finds names that occur twice; the package's own search is quadratic.
      uniqueKeys: false,
      strict: true,
      prettyErrors: false,
    })
    const [fault] = [...document.errors, ...document.warnings]
    if (fault !== undefined) {
      return fail(fault.message, 'write plain YAML 1.2', '', fault.pos[0])
    }
    if (document.directives?.yaml.explicit === true) {
      return fail('a %YAML directive', 'remove it: files are read as YAML 1.2')
    }
    const at = new Map<string, Position>()
    const value = convert(document.contents, '', at, lines, 0)
    return { ok: true, tree: { value, at: (pointer) => nearest(at, pointer) } }
  } catch (error) {
    if (error instanceof Refusal) {
      return fail(error.message, error.wayOut, error.path, error.node?.range?.[0])
    }
    if (error instanceof RangeError) return fail('nested too deeply', 'flatten the file')
    throw error
  }
}

/** Flow brackets and block indentation are the two ways to nest; both are cheap to bound beforehand. */
function depthOver(text: string, limit: number): boolean {
  let flow = 0
  for (const character of text) {
    if (character === '[' || character === '{') flow++
    else if (character === ']' || character === '}') flow--
    if (flow > limit) return true
  }
  return /(?:^|\n) *(?:[-?] +){65}/.test(text)
}

const position = (lines: LineCounter, offset: number): Position => {
  const { line, col } = lines.linePos(offset)
  return { line, column: col }
}

function convert(
  node: Node | null,
  path: string,
  at: Map<string, Position>,
  lines: LineCounter,
  depth: number,
): JsonValue {
  if (node === null) return null
  if (node.range) at.set(path, position(lines, node.range[0]))
  if (depth > MAX_DEPTH) throw new Refusal(node, path, 'nested too deeply', 'flatten the file')
  if (node.anchor !== undefined) throw new Refusal(node, path, 'an anchor', 'remove it')
  if (node.tag !== undefined) {
    throw new Refusal(node, path, `the tag ${node.tag}`, 'remove it: values have plain types only')
  }
  if (isMap<Node, Node | null>(node)) {
    const out = new Map<string, JsonValue>()
    for (const { key, value } of node.items) {
      const name = nameOf(key, path)
      const inner = `${path}/${escapePointer(name)}`
      if (out.has(name)) throw new Refusal(key, inner, `"${name}" is there twice`, 'keep one')
      out.set(name, convert(value, inner, at, lines, depth + 1))
      // A key says better than its value where a problem is.
      if (key.range) at.set(inner, position(lines, key.range[0]))
    }
    return out
  }
  if (isSeq<Node | null>(node)) {
    return node.items.map((item, index) => convert(item, `${path}/${index}`, at, lines, depth + 1))
  }
  if (isScalar(node)) return scalar(node, path)
  throw new Refusal(node, path, 'an alias', 'write the value out')
}

function nameOf(key: Node | null, path: string): string {
  if (isScalar(key) && key.anchor === undefined && key.tag === undefined) {
    if (typeof key.value === 'string') return key.value
  }
  throw new Refusal(key, path, 'a name that is not text', 'put the name in quotes')
}

function scalar(node: Scalar, path: string): JsonValue {
  const { value } = node
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value)) {
      throw new Refusal(node, path, 'half a character', 'write the whole character')
    }
    return value
  }
  const token = node.source ?? ''
  if (node.type === Scalar.PLAIN && NUMBER.test(token)) return new JsonNumber(token)
  throw new Refusal(node, path, `${token} is no plain number`, 'write decimal digits, or quote it')
}

/** A missing member's problem points to what lacks it. */
function nearest(at: ReadonlyMap<string, Position>, pointer: string): Position | null {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf('/'))) {
    const found = at.get(path)
    if (found !== undefined || path === '') return found ?? null
  }
}
