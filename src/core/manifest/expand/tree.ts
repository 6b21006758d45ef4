import { isArray, isObject, JsonNumber, type JsonValue, type Plain } from '../../json/value.js'
import { escapePointer } from '../route/pointer.js'

/** A parsed document that lost nothing, and where each value stood; `at` takes a JSON pointer. */
export type SourceTree = {
  readonly value: JsonValue
  readonly at: (pointer: string) => Position | null
}
export type Position = { readonly line: number; readonly column: number }

/** What is wrong, where, and how to get out of it. Problems are values; a document collects all of them. */
export type Problem = {
  /** JSON pointer into the document. */
  readonly path: string
  readonly line?: number
  readonly column?: number
  readonly message: string
  readonly way_out: string
}

export type Node = { readonly value: JsonValue; readonly path: string }
export type Fields = ReadonlyMap<string, Node>

/** Records with names an author chose have no prototype: `constructor` is a name like any other. */
export const record = <T>(entries: Iterable<readonly [string, T]> = []): Record<string, T> => {
  const out: Record<string, T> = Object.create(null)
  for (const [name, value] of entries) out[name] = value
  return out
}

export type Reader = ReturnType<typeof createReader>

/** Reads nodes by expected shape. A wrong shape is recorded and reads as undefined. */
export function createReader(tree: SourceTree) {
  const problems: Problem[] = []

  function problem(node: { readonly path: string }, message: string, wayOut: string): undefined {
    const position = tree.at(node.path)
    problems.push({ path: node.path, ...(position ?? {}), message, way_out: wayOut })
    return undefined
  }

  const child = (node: Node, name: string | number, value: JsonValue): Node => ({
    value,
    path: `${node.path}/${escapePointer(String(name))}`,
  })

  /** Members that are null are absent. `known` null admits any name. */
  function fields(node: Node | undefined, known: readonly string[] | null): Fields | undefined {
    if (node === undefined) return undefined
    if (!isObject(node.value)) return problem(node, 'expected a mapping', 'write name: value pairs')
    const out = new Map<string, Node>()
    for (const [name, value] of node.value) {
      const member = child(node, name, value)
      if (known !== null && !known.includes(name)) {
        problem(member, `unknown key "${name}"`, `known here: ${known.join(', ')}`)
      } else if (value !== null) out.set(name, member)
    }
    return out
  }

  function list(node: Node | undefined): readonly Node[] | undefined {
    if (node === undefined) return undefined
    if (!isArray(node.value)) return problem(node, 'expected a list', 'write [a, b]')
    return node.value.map((value, index) => child(node, index, value))
  }

  function text(node: Node | undefined, form: RegExp, hint: string): string | undefined {
    if (node === undefined) return undefined
    if (typeof node.value !== 'string') {
      const quoted = node.value instanceof JsonNumber || typeof node.value === 'boolean'
      return problem(node, `expected text: ${hint}`, quoted ? 'put it in quotes' : `write ${hint}`)
    }
    if (!form.test(node.value)) {
      return problem(node, `${JSON.stringify(node.value)} is not ${hint}`, `write ${hint}`)
    }
    return node.value
  }

  /** Those of a list that have the form; the others are problems. */
  const texts = (node: Node | undefined, form: RegExp, hint: string): readonly string[] =>
    (list(node) ?? []).flatMap((member) => text(member, form, hint) ?? [])

  function oneOf<T extends string>(node: Node | undefined, options: readonly T[]): T | undefined {
    if (node === undefined) return undefined
    const found = options.find((option) => option === node.value)
    return found ?? problem(node, 'not a known value', `one of: ${options.join(', ')}`)
  }

  function flag(node: Node | undefined): boolean | undefined {
    if (node === undefined || typeof node.value === 'boolean') return node?.value as boolean
    return problem(node, 'expected true or false', 'write true or false')
  }

  function integer(node: Node | undefined, min: number, max: number): number | undefined {
    if (node === undefined) return undefined
    const value =
      node.value instanceof JsonNumber && /^-?[0-9]{1,15}$/.test(node.value.token)
        ? Number(node.value.token)
        : null
    if (value === null || value < min || value > max) {
      return problem(node, `expected a whole number from ${min} to ${max}`, 'write it plainly')
    }
    return value
  }

  /** Any value that has a reproducible digest. Floats and unsafe integers have none (seed §2). */
  function plain(node: Node | undefined): Plain | undefined {
    if (node === undefined) return undefined
    const { value } = node
    if (value instanceof JsonNumber) {
      const number = Number(value.token)
      if (/^-?[0-9]+$/.test(value.token) && Number.isSafeInteger(number)) return number + 0
      return problem(
        node,
        `${value.token} has no exact form as a number`,
        `write it as a decimal string: "${value.token}"`,
      )
    }
    if (isArray(value)) {
      return value.map((element, index) => plain(child(node, index, element)) ?? null)
    }
    if (isObject(value)) {
      return record(
        [...value].map(([name, member]) => [name, plain(child(node, name, member)) ?? null]),
      )
    }
    return value
  }

  return { problems, problem, fields, list, text, texts, oneOf, flag, integer, plain }
}

/** Deeply: a loaded document is shared and must not change. */
export function freeze<T>(value: T): T {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) freeze(member)
  }
  return value
}
